package store

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// TooManyGroups returns the error for an account with as many groups as it may have.
func TooManyGroups() error {
	return &fault.Error{Code: fault.TooMany, Message: "the account has its maximum of 1,000 groups; delete one that no schedule names",
		RetryAfter: time.Minute}
}

// ErrGroupNamed is returned for the deletion of a group that schedules name.
var ErrGroupNamed error = fault.New(fault.Conflict, "schedules name this group; edit or delete them first")

// Groups stores groups of targets.
type Groups interface {
	// GroupPut stores a group or replaces the one with its name, whose InsertedAt it
	// keeps. It sets InsertedAt and UpdatedAt, which is after that of what it replaces. It
	// returns a TooMany fault if the account would have more than job.MaxGroups, and what
	// holds returns for the revision of the stored group, 0 if there is none. A nil holds
	// is no condition.
	GroupPut(ctx context.Context, g *job.Group, holds func(revision int64) error) (created bool, err error)
	// GroupCopy stores a group as it is, in place of one with its name.
	GroupCopy(ctx context.Context, g *job.Group) error
	// GroupGet returns one of an account's groups, or a NotFound fault.
	GroupGet(ctx context.Context, account int64, name string) (*job.Group, error)
	// GroupList returns up to limit of an account's groups after a name, in order of the
	// bytes of their names.
	GroupList(ctx context.Context, account int64, after string, limit int) ([]*job.Group, error)
	// GroupDelete deletes one of an account's groups. It returns a NotFound fault if there
	// is none, what holds returns for its revision, and ErrGroupNamed if schedules name it;
	// a nil holds is no condition.
	GroupDelete(ctx context.Context, account int64, name string, holds func(revision int64) error) error
	// KeyRelease makes a job hold its key until two times only, if it holds it for longer:
	// against keys in bodies, and in the header Idempotency-Key.
	KeyRelease(ctx context.Context, owner job.Owner, number int64, held, remembered time.Time) error
}
