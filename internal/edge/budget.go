package edge

import (
	"net/netip"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

// budget bounds how many bytes are held in memory at once, in all and for each
// holder.
type budget struct {
	most int64 // bytes in all

	mu      sync.Mutex
	used    int64
	holders map[holder]int64
}

// holder is who bytes are counted for: a network or an account, never both.
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

// charge is what one request holds of a budget, for all its holders. It is for
// one goroutine at a time. The zero charge holds nothing.
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

// add holds n more bytes; a TooMany fault, and nothing more is held, when the
// budget or the share of a holder does not have them.
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

// attach counts what is held, and will be, for another holder too; a TooMany
// fault, and it does not, when that holder's share does not have it.
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

// release gives everything back.
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
		Code: fault.TooMany, Message: what + "; send less at a time, and try again after as many seconds as Retry-After says",
		RetryAfter: time.Second,
	}
}
