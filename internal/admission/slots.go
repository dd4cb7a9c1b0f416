package admission

import (
	"context"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

const (
	// slotWait is how long a read waits for a slot of its account.
	slotWait = 2 * time.Second
	// maxQueue is the maximum number of waiting reads of an account.
	maxQueue = 64
)

// slots limits the number of concurrent reads of each account. Waiting reads
// proceed in order of arrival. Use newSlots; the zero value is not ready.
type slots struct {
	each int // of an account

	mu       sync.Mutex
	accounts map[int64]*line
}

// line is an account's reads.
type line struct {
	busy    int
	waiting []chan struct{} // closed when a slot is handed over
}

func newSlots(each int) *slots { return &slots{each: each, accounts: map[int64]*line{}} }

// enter waits for a slot of an account; leave releases it. It returns a TooMany
// fault if no slot became free in time, and an error if ctx has ended.
func (s *slots) enter(ctx context.Context, account int64) (leave func(), err error) {
	turn, err := s.join(account)
	if err != nil {
		return nil, err
	}
	leave = sync.OnceFunc(func() { s.leave(account) })
	if turn == nil {
		return leave, nil
	}
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case <-turn:
		return leave, nil
	case <-timer.C:
		err = tooMany()
	case <-ctx.Done():
		err = fault.Unreachable(ctx.Err())
	}
	if !s.withdraw(account, turn) { // the slot came at the same moment
		leave()
	}
	return nil, err
}

func tooMany() error {
	return &fault.Error{
		Code: fault.TooMany, Reason: fault.Overlapping, RetryAfter: time.Second,
		Message: "this account reads too many lists at once; wait for the answers to those under way, then try again",
	}
}

// join takes a slot or, if none is free, a place in the line.
func (s *slots) join(account int64) (turn chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.accounts[account]
	if l == nil {
		l = &line{}
		s.accounts[account] = l
	}
	switch {
	case l.busy < s.each:
		l.busy++
		return nil, nil
	case len(l.waiting) >= maxQueue:
		return nil, tooMany()
	}
	turn = make(chan struct{})
	l.waiting = append(l.waiting, turn)
	return turn, nil
}

// withdraw leaves the line. It returns false if the slot was assigned already.
func (s *slots) withdraw(account int64, turn chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.accounts[account]
	if l == nil {
		return false
	}
	for i, other := range l.waiting {
		if other == turn {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// leave passes the slot to the first read that waits.
func (s *slots) leave(account int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.accounts[account]
	if len(l.waiting) > 0 {
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
		return
	}
	if l.busy--; l.busy == 0 {
		delete(s.accounts, account)
	}
}
