package faulty

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// Fault describes how a call fails.
type Fault struct {
	// Delay is how long the call waits first.
	Delay time.Duration
	// Gate makes the call wait until it is closed.
	Gate <-chan struct{}
	// Err is the error that the call returns; nil if it only waits.
	Err error
	// Late calls the wrapped store before the call fails.
	Late bool
	// Times is how many calls have the fault; 0 for all.
	Times int
}

// Around carries out a call of a method. It may do so at another time, once or not
// at all, and returns the error that the call returns.
type Around func(ctx context.Context, method string, call func() error) error

// Store is a store whose methods can be made to fail.
type Store struct {
	store.Store
	around Around
	mu     sync.Mutex
	faults map[string]*Fault
	calls  map[string]int
}

// New wraps a store. The wrapper has no faults until Set is called.
func New(s store.Store) *Store {
	return &Store{Store: s, faults: map[string]*Fault{}, calls: map[string]int{}}
}

// NewAround wraps a store so that around carries out all calls that can fail. It
// must be safe for concurrent use.
func NewAround(s store.Store, around Around) *Store {
	f := New(s)
	f.around = around
	return f
}

// Set sets the fault of a method. It panics if no such method can fail.
func (s *Store) Set(method string, f Fault) {
	if !methods[method] {
		panic(fmt.Sprintf("faulty: a store has no method %s that can fail", method))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[method] = &f
}

// SetAll sets the fault of all methods.
func (s *Store) SetAll(f Fault) {
	for method := range methods {
		s.Set(method, f)
	}
}

// Clear removes the faults of the given methods, or all faults without arguments.
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

// Calls returns how often a method was called, including failed calls.
func (s *Store) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// meet counts a call and returns its fault.
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

// wait waits as the fault says, or until ctx ends.
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

// until waits for a channel, unless it is nil.
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

// get calls a method that returns a value, with its fault.
func get[T any](ctx context.Context, s *Store, method string, call func() (T, error)) (T, error) {
	var none T
	if s.around != nil {
		unwrapped := call
		call = func() (v T, err error) {
			err = s.around(ctx, method, func() (err error) {
				v, err = unwrapped()
				return err
			})
			return v, err
		}
	}
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

// do calls a method that returns only an error, with its fault.
func do(ctx context.Context, s *Store, method string, call func() error) error {
	_, err := get(ctx, s, method, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// getTwo is get for a method that returns two values.
func getTwo[A, B any](ctx context.Context, s *Store, method string, call func() (A, B, error)) (A, B, error) {
	type both struct {
		a A
		b B
	}
	v, err := get(ctx, s, method, func() (v both, err error) {
		v.a, v.b, err = call()
		return v, err
	})
	return v.a, v.b, err
}
