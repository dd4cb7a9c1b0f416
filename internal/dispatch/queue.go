package dispatch

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// Queue is what a Dispatcher needs of the store.
type Queue interface {
	store.Nodes
	store.Parking
	store.Suspects
	store.LimitQueue
	Now() time.Time
	QueuePeek(ctx context.Context, after store.QueueKey, until time.Time, limit int) ([]store.QueueKey, error)
	QueueLoad(ctx context.Context, refs []store.QueueKey) ([]*store.QueueItem, error)
	QueueClaim(ctx context.Context, node int64, claims []store.Claim) ([]bool, error)
	QueueRelease(ctx context.Context, node int64, claims []store.Claim) error
	QueueHeld(ctx context.Context, node int64, claims []store.Claim) ([]store.ClaimStatus, error)
}
