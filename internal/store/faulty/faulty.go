package faulty

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// Fault is what becomes of a call.
type Fault struct {
	// Delay is how long the call waits before anything else.
	Delay time.Duration
	// Gate makes the call wait until it is closed.
	Gate <-chan struct{}
	// Err is what the call fails with; nil for one that only waits.
	Err error
	// Late lets the store do its work before the call fails.
	Late bool
	// Times is how many calls meet the fault; 0 for all.
	Times int
}

// Store is a store whose methods can be made to fail.
type Store struct {
	store.Store
	mu     sync.Mutex
	faults map[string]*Fault
	calls  map[string]int
}

// New wraps a store. Until a fault is set, the wrapper does just what it does.
func New(s store.Store) *Store {
	return &Store{Store: s, faults: map[string]*Fault{}, calls: map[string]int{}}
}

// Set gives a method a fault in place of the one it has.
func (s *Store) Set(method string, f Fault) {
	if !methods[method] {
		panic(fmt.Sprintf("faulty: a store has no method %s that can fail", method))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method] = &f
}

// SetAll gives all methods a fault.
func (s *Store) SetAll(f Fault) {
	for method := range methods {
		s.Set(method, f)
	}
}

// Clear ends the faults of methods, or all faults when none is named.
func (s *Store) Clear(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(names) == 0 {
		clear(s.faults)
	}
	for _, name := range names {
		delete(s.faults, name)
	}
}

// Calls tells how often a method was called, whatever became of it.
func (s *Store) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// meet counts a call and gives the fault it meets.
func (s *Store) meet(method string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method]++
	f := s.faults[method]
	if f == nil {
		return Fault{}
	}
	met := *f
	if f.Times == 1 {
		delete(s.faults, method)
	} else if f.Times > 1 {
		f.Times--
	}
	return met
}

// wait waits as the fault says, for as long as the caller does.
func (f *Fault) wait(ctx context.Context) error {
	var after <-chan time.Time
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		after = timer.C
	}
	for _, ready := range []func() error{
		func() error { return until(ctx, after) },
		func() error { return until(ctx, f.Gate) },
	} {
		if err := ready(); err != nil {
			return err
		}
	}
	return nil
}

// until waits for a channel, unless there is none.
func until[T any](ctx context.Context, c <-chan T) error {
	if c == nil {
		return nil
	}
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return fault.Unreachable(ctx.Err())
	}
}

// get calls a method that gives a value, under the fault it meets.
func get[T any](ctx context.Context, s *Store, method string, call func() (T, error)) (T, error) {
	var none T
	f := s.meet(method)
	if err := f.wait(ctx); err != nil {
		return none, err
	}
	if f.Err != nil && !f.Late {
		return none, f.Err
	}
	v, err := call()
	if err == nil && f.Err != nil {
		return none, f.Err
	}
	return v, err
}

// do calls a method that gives no value, under the fault it meets.
func do(ctx context.Context, s *Store, method string, call func() error) error {
	_, err := get(ctx, s, method, func() (struct{}, error) { return struct{}{}, call() })
	return err
}
