package eventstream

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// slots is how many times lastStored has room for.
const slots = 4096

// lastStored has the times when this node last stored something of an account. Accounts
// share slots, so that its size is fixed: another account's change may pass for one's own.
type lastStored struct {
	began time.Time
	at    [slots]atomic.Int64 // microseconds since 1970
}

func (t *lastStored) slot(account int64) *atomic.Int64 { return &t.at[uint64(account)%slots] }

func (t *lastStored) put(account int64, now time.Time) { t.slot(account).Store(now.UnixMicro()) }

// since reports whether something may have been stored at or after a time.
func (t *lastStored) since(account int64, at time.Time) bool {
	return at.Before(t.began) || t.slot(account).Load() >= at.UnixMicro()
}

// timeOf returns when a log was written, by its id.
func timeOf(id uuid.UUID) time.Time {
	var ms [8]byte
	copy(ms[2:], id[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:])))
}

// changed reports whether something of an account may have changed since a time: on
// this node, or, as far as watchers find it, on others. The versions of records are older
// than their commits, so they count from a little earlier.
func (h *Hub) changed(ctx context.Context, owner job.Owner, since time.Time) bool {
	if h.stored.since(owner.Number, since) {
		return true
	}
	since = since.Add(-overlap)
	logs, err := h.Store.LogVersions(ctx, owner, 1)
	if err != nil || len(logs) > 0 && !timeOf(logs[0].ID).Before(since) {
		return true
	}
	jobs, err := h.Store.JobVersions(ctx, owner, 1)
	if err != nil || len(jobs) > 0 && !jobs[0].InsertedAt.Before(since) {
		return true
	}
	ended, err := h.Store.JobVersionsEnded(ctx, owner, since, 1)
	return err != nil || len(ended) > 0
}
