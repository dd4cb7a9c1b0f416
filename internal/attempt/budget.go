package attempt

import (
	"context"
	"sync"
)

// messageBytes bounds the memory for delivery bodies that are assembled from
// logs, messageShare the part of one account.
const (
	messageBytes = 64 << 20
	messageShare = messageBytes / 4
)

// budget bounds bytes in use, in total and per account. An account that uses
// none gets what it asks for even if the others have used up the total, as long
// as all together stay within twice the total. Create one with newBudget.
type budget struct {
	total, share int

	mu    sync.Mutex
	used  int
	by    map[int64]int
	freed chan struct{} // closed when bytes are returned
}

func newBudget(total, share int) *budget {
	return &budget{total: total, share: share, by: map[int64]int{}, freed: make(chan struct{})}
}

// take waits until there is room for n bytes of an account, or returns the
// error of ctx. The caller must return the bytes with give.
func (b *budget) take(ctx context.Context, account int64, n int) error {
	for {
		b.mu.Lock()
		if b.fits(account, n) {
			b.used += n
			b.by[account] += n
			b.mu.Unlock()
			return nil
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fits reports whether n more bytes fit. A request larger than twice the total
// waits until nothing is in use. Called with mu held.
func (b *budget) fits(account int64, n int) bool {
	if b.by[account] == 0 {
		return b.used+n <= 2*b.total || b.used == 0
	}
	return b.by[account]+n <= b.share && b.used+n <= b.total
}

func (b *budget) give(account int64, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.by[account] -= n; b.by[account] == 0 {
		delete(b.by, account)
	}
	close(b.freed)
	b.freed = make(chan struct{})
}
