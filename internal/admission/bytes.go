package admission

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

const (
	// byteWait is how long a read waits for bytes.
	byteWait = 5 * time.Second
	// maxByteWaiters is the maximum number of reads that wait for bytes.
	maxByteWaiters = 1000
)

// budget is a number of bytes that accounts share. An account may hold at most as
// many bytes as remain free.
type budget struct {
	total int

	mu      sync.Mutex
	used    int
	held    map[int64]int
	waiting []*claim
}

// claim is a read that waits for bytes.
type claim struct {
	account int64
	size    int
	granted chan struct{}
}

func newBudget(total int) *budget { return &budget{total: total, held: map[int64]int{}} }

// lease is a part of a budget.
type lease struct {
	budget  *budget
	account int64
	size    int
}

// take reserves bytes for an account and waits until it may hold them. On a
// timeout it returns a TooMany fault if the account itself holds too many, or an
// Unavailable fault if all accounts together do.
func (b *budget) take(ctx context.Context, account int64, size int) (*lease, error) {
	size = min(size, b.total/2) // what one account can hold
	c, err := b.claim(account, size)
	if err != nil {
		return nil, err
	}
	l := &lease{budget: b, account: account, size: size}
	if c == nil {
		return l, nil
	}
	timer := time.NewTimer(byteWait)
	defer timer.Stop()
	select {
	case <-c.granted:
		return l, nil
	case <-timer.C:
		err = b.refusal(account)
	case <-ctx.Done():
		err = fault.Unreachable(ctx.Err())
	}
	if !b.withdraw(c) {
		l.release()
	}
	return nil, err
}

// refusal returns the fault for bytes that did not become free in time.
func (b *budget) refusal(account int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[account] == 0 {
		return fault.Busy(nil)
	}
	return &fault.Error{
		Code: fault.TooMany, Reason: fault.Overlapping, RetryAfter: time.Second,
		Message: "this account's answers under way are too large for one more; read them, ask for less with limit, then try again",
	}
}

// claim reserves bytes or, if they are not free, joins the waiters.
func (b *budget) claim(account int64, size int) (*claim, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.fits(account, size):
		b.add(account, size)
		return nil, nil
	case len(b.waiting) >= maxByteWaiters:
		return nil, fault.Busy(nil)
	}
	c := &claim{account: account, size: size, granted: make(chan struct{})}
	b.waiting = append(b.waiting, c)
	return c, nil
}

func (b *budget) fits(account int64, size int) bool {
	return b.held[account]+size <= b.total-b.used
}

// add adds to the bytes held by an account; a negative number releases them.
func (b *budget) add(account int64, size int) {
	b.used += size
	if b.held[account] += size; b.held[account] == 0 {
		delete(b.held, account)
	}
}

// withdraw ends a wait. It returns false if the bytes were granted already.
func (b *budget) withdraw(c *claim) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, c)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return true
}

// resize sets a lease to the bytes that were read. It does not wait.
func (l *lease) resize(size int) {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(l.account, size-l.size)
	l.size = size
	b.waiting = slices.DeleteFunc(b.waiting, func(c *claim) bool {
		if !b.fits(c.account, c.size) {
			return false
		}
		b.add(c.account, c.size)
		close(c.granted)
		return true
	})
}

// release ends a lease, which may be nil.
func (l *lease) release() {
	if l != nil {
		l.resize(0)
	}
}
