package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// ErrTooManyMutes is the fault for muting more than job.MaxMutes schedules at once.
var ErrTooManyMutes = fault.New(fault.Conflict, "the account has 1,000 muted schedules already; unmute one")

// ErrNotFailing is the fault for acknowledging failures that there are none of.
var ErrNotFailing = fault.New(fault.Conflict, "the schedule is not failing, so there is nothing to recover from; mute it until a time, or with null")

// Mutes stores which schedules are muted. A mute is in force until its time has come or,
// if it acknowledges failures, until the schedule succeeds; nothing needs to be written
// then.
type Mutes interface {
	// MutePut mutes a schedule, in place of an earlier mute. It sets MutedAt and, if
	// recovered is set, FailingSince. It returns a NotFound fault if the account has no
	// such schedule, ErrTooManyMutes, ErrNotFailing if recovered is set and the schedule is
	// not failing, and what holds returns for the revision of the schedule; a nil holds is
	// no condition.
	MutePut(ctx context.Context, m *job.Mute, recovered bool, holds func(revision int64) error) error
	// MuteDelete unmutes a schedule and reports whether it was muted. It returns a NotFound
	// fault if the account has no such schedule, and what holds returns for its revision.
	MuteDelete(ctx context.Context, account int64, schedule uuid.UUID, holds func(revision int64) error) (unmuted bool, err error)
	// MuteList returns the mutes in force of some of an account's schedules, or of all for
	// nil: at most job.MaxMutes.
	MuteList(ctx context.Context, account int64, schedules []uuid.UUID) ([]*job.Mute, error)
	// MuteCopy stores a mute as it is, unless its schedule has one.
	MuteCopy(ctx context.Context, m *job.Mute) error
}
