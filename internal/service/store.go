package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/store"
)

// Store is what a Service needs of the store to serve one account at a time.
type Store interface {
	store.Jobs
	store.Schedules
	store.Definitions
	store.Logs
	store.Summaries
	store.Limits
	store.Groups
	store.Runs
	store.WaitQueue
	store.Completions
	store.Operations
	store.JobSearch
	store.Mutes
	Now() time.Time
	MonthsOf(ctx context.Context, key store.ScheduleKey, limit int) (*store.RunMonths, error)
	JobRequested(ctx context.Context, owner job.Owner, ids []uuid.UUID) ([]store.Inserted, error)
	JobVersions(ctx context.Context, owner job.Owner, limit int) ([]store.JobVersion, error)
	JobVersionsOf(ctx context.Context, owner job.Owner, ids []job.Ref) ([]store.JobVersion, error)
}

// Operations is what a Service needs of the store to serve operators.
type Operations interface {
	Ping(ctx context.Context) error
	AccountPage(ctx context.Context, after int64, limit int) ([]*identity.Account, error)
	AccountSize(ctx context.Context, account int64, limit int) (identity.RecordCounts, error)
	AccountSuspend(ctx context.Context, account int64, at time.Time, reason string) error
	NodeList(ctx context.Context) ([]operator.Node, error)
	TargetBlocks(ctx context.Context) ([]operator.TargetBlock, error)
}
