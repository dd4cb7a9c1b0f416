package service

import (
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

const (
	// MaxExports is how many exports one account may run at once on a node;
	// maxAllExports is the limit for all accounts together.
	MaxExports    = 2
	maxAllExports = 16
)

// exports counts the exports under way.
type exports struct {
	mu       sync.Mutex
	all      int
	accounts map[int64]int
}

// begin counts an export as under way until the caller calls end.
func (e *exports) begin(account int64) (end func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.accounts[account] >= MaxExports:
		return nil, &fault.Error{
			Code: fault.TooMany, Reason: fault.Overlapping, RetryAfter: 10 * time.Second,
			Message: "this account has two exports under way; wait until one has ended, then try again",
		}
	case e.all >= maxAllExports:
		return nil, &fault.Error{
			Code: fault.TooMany, Reason: fault.Overlapping, RetryAfter: 10 * time.Second,
			Message: "too many exports are under way; try again shortly",
		}
	}
	if e.accounts == nil {
		e.accounts = map[int64]int{}
	}
	e.all++
	e.accounts[account]++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.all--
		if e.accounts[account]--; e.accounts[account] == 0 {
			delete(e.accounts, account)
		}
	}, nil
}
