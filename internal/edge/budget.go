package edge

import (
	"net/netip"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

// budget limits how many bytes are held in memory at once, in all and per holder.
type budget struct {
	most int64 // bytes in all

	mu      sync.Mutex
	used    int64
	holders map[holder]int64
}

// holder is what bytes are counted for: either a network or an account.
type holder struct {
	network netip.Prefix
	account int64
}

func newBudget(most int64) *budget { return &budget{most: most, holders: map[holder]int64{}} }

// inUse returns how many bytes are held.
func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// charge is the bytes that one request holds of a budget, for all its holders. It is
// not safe for concurrent use. The zero charge holds nothing.
type charge struct {
	budget  *budget
	bytes   int64
	holders []share
}

// share is how much a holder may hold.
type share struct {
	holder
	most int64
}

// add charges n more bytes. If they exceed the budget or a holder's share, it
// charges nothing and returns a TooMany fault.
func (c *charge) add(n int64) error {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range c.holders {
		if b.holders[s.holder]+n > s.most {
			return s.exceeded()
		}
	}
	if b.used+n > b.most {
		return tooMuch("the service is receiving too much at once")
	}
	b.used += n
	for _, s := range c.holders {
		b.holders[s.holder] += n
	}
	c.bytes += n
	return nil
}

// attach also counts the bytes, current and future, for another holder. If they
// exceed that holder's share, it changes nothing and returns a TooMany fault.
func (c *charge) attach(s share) error {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.bytes > 0 {
		if b.holders[s.holder]+c.bytes > s.most {
			return s.exceeded()
		}
		b.holders[s.holder] += c.bytes
	}
	c.holders = append(c.holders, s)
	return nil
}

// release returns all bytes to the budget.
func (c *charge) release() {
	if c.bytes == 0 {
		return
	}
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= c.bytes
	for _, s := range c.holders {
		if b.holders[s.holder] -= c.bytes; b.holders[s.holder] <= 0 {
			delete(b.holders, s.holder)
		}
	}
	c.bytes = 0
}

func (s share) exceeded() error {
	if s.account != 0 {
		return tooMuch("this account is sending too much at once")
	}
	return tooMuch("your network is sending too much at once")
}

func tooMuch(what string) error {
	return &fault.Error{
		Code: fault.TooMany, Reason: fault.Overlapping, Message: what + "; send less at a time, and try again after Retry-After seconds",
		RetryAfter: time.Second,
	}
}
