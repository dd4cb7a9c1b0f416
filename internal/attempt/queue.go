package attempt

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// Queue is what ends attempts in the store.
type Queue interface {
	Now() time.Time
	QueueLoad(ctx context.Context, refs []store.QueueKey) ([]*store.QueueItem, error)
	QueueFinish(ctx context.Context, finishes []store.Finish) ([]bool, error)
}
