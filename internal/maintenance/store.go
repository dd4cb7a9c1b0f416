package maintenance

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// Store is what a Worker needs of the store.
type Store interface {
	store.Retention
	store.Counts
	store.Months
	LimitWaiting(ctx context.Context) (int, error)
	Now() time.Time
	AccountPurge(ctx context.Context, settled time.Time, limit int) (int, error)
	SessionPrune(ctx context.Context, before time.Time, limit int) (int, error)
	RecipientPrune(ctx context.Context, before time.Time, limit int) (int, error)
	RequestPrune(ctx context.Context, expired time.Time, limit int) (int, error)
	StatsPrune(ctx context.Context, before int64, limit int) (int, error)
	OperationsRunning(ctx context.Context, limit int) (int, error)
	OperationPrune(ctx context.Context, before time.Time, limit int) (int, error)
	AuditPrune(ctx context.Context, before time.Time, limit int) (int, error)
	RunPrune(ctx context.Context, before time.Time, limit int) (removed int, more bool, err error)
}
