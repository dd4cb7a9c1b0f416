package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// A turn that is synced takes as long as the disk does, and rows wait for it before they
// are sent. A light turn is committed and not synced: if the database fails, it may lose
// what was settled, which is then sent again and stored once, and the notes, so that rows
// which were sent don't look so. For those there is a standing note, which is synced before
// the first light turn and renewed with the lease. It has the incarnation of the database,
// which changes whenever light turns may be lost. A relay that finds another one suspects
// the rows that were there: they may have been sent.
//
// Only few rows may be suspected for nothing, so turns are light only while few wait: not
// after a full batch, nor while the service can't be used.

// standingMark begins the ids of a standing note; its incarnation follows.
const standingMark = "* "

// errRecovered says that what was done last may be undone: rows that were deleted wait
// again, and numbers of transactions are used again.
var errRecovered = errors.New("it has recovered from a failure; beginning anew")

// suspect says that rows which were created until a time, on the clock of the database,
// may have been sent.
type suspect struct {
	until time.Time
	at    time.Time // when, on the clock of this machine
}

// suspect learns from standing notes of an earlier incarnation.
func (r *Relay) suspect(notes []note, skew time.Duration) {
	r.suspects = nil
	for i := range notes {
		n := &notes[i]
		if n.lost = n.standing && n.incarnation != r.source.incarnation; n.lost {
			r.suspects = append(r.suspects, suspect{until: n.sentAt.Add(lease), at: n.sentAt.Add(skew)})
		}
	}
}

// sentBefore returns when a relay before this one may have sent rows first, by their ids;
// nil if it sent none of them.
func (r *Relay) sentBefore(batch []row) (known map[string]time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range batch {
		w := &batch[i]
		at, sent := r.inherited[w.id]
		for _, s := range r.suspects {
			if !w.createdAt.After(s.until) && (!sent || s.at.Before(at)) {
				at, sent = s.at, true
			}
		}
		if sent && known == nil {
			known = map[string]time.Time{}
		}
		if sent {
			known[w.id] = at
		}
	}
	return known
}

// stands returns the id of the standing note; "" if there is none.
func (r *Relay) stands() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.standing
}

func (r *Relay) standsBy(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.standing = id
}

// durable has a turn synced that is not to be light, or can't be yet. It writes or ends
// the standing note.
func (r *Relay) durable(t *turn) {
	standing := r.stands()
	switch {
	case !t.light && standing != "":
		t.ended = append(t.ended, standing)
	case t.light && standing == "":
		if t.light = false; r.source.incarnation != "" {
			t.stand = uuid.NewString()
		}
	}
}

// readIncarnation returns the incarnation of the database; "" if it has none, or the role
// may not read it.
func (s *source) readIncarnation(ctx context.Context) (incarnation string, err error) {
	if s.incarnated == "" {
		return "", nil
	}
	if err := s.db.QueryRowContext(ctx, `SELECT `+s.incarnated).Scan(&incarnation); err != nil {
		if s.refused(err) {
			return "", nil
		}
		return "", fmt.Errorf("reading whether the database of the outbox recovered: %w", err)
	}
	return incarnation, nil
}
