package attempt

import (
	"context"
	"sync"
)

// How many bytes of messages that were put together from logs are in memory at
// once, in all and of one account.
const (
	messageBytes = 64 << 20
	messageShare = messageBytes / 4
)

// budget bounds bytes in use, in all and for each account. An account that has
// nothing in use gets what it asks for even when others have used all up, as long
// as that is not more than twice the budget. Make one with newBudget.
type budget struct {
	total, share int

	mu    sync.Mutex
	used  int
	by    map[int64]int
	freed chan struct{} // closed when bytes are given back
}

func newBudget(total, share int) *budget {
	return &budget{total: total, share: share, by: map[int64]int{}, freed: make(chan struct{})}
}

// take waits until there is room for n bytes of an account; the error of ctx when
// that ends first. Its caller gives them back.
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

// fits is called with mu held. What is more than the budget waits to be alone.
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
