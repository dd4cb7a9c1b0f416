package sqlite

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// maxGroup is how many writes share a commit at most. One write may contain
// hundreds of rows.
const maxGroup = 256

// maxGroupBytes is approximately how many bytes the writes that share a commit
// store at most, because each of them waits for all.
const maxGroupBytes = 4 << 20

// writer owns the only connection that writes. It runs the writes that arrived
// during the last commit in one transaction.
type writer struct {
	store *Store
	conn  *sqlite.Conn
	queue chan *write

	numbers numbers // used by loop only

	busyTimeout time.Duration // busyTimeout, except in tests

	commits atomic.Int64 // number of transactions so far

	mu     sync.RWMutex // keeps close from closing the queue during a send
	closed bool
}

// write is a function to run in a transaction. It may run again if another write
// of its group failed, so it must set its results, not add to them. If it returns
// a fault, it must have written nothing; the rest of its group is not affected.
type write struct {
	run     func(*tx) error
	size    int                      // approximately how many bytes it stores
	outside func(*sqlite.Conn) error // run between transactions instead
	refusal error                    // the fault that run returned
	done    chan error
}

func newWriter(s *Store, conn *sqlite.Conn) *writer {
	return &writer{store: s, conn: conn, queue: make(chan *write, maxGroup), busyTimeout: busyTimeout}
}

// write runs f in a transaction and returns after the commit. Once accepted, it
// is completed even if ctx ends, so that the caller knows the outcome.
func (s *Store) write(ctx context.Context, f func(*tx) error) error {
	return s.writeSized(ctx, 0, f)
}

// writeSized is write for a function that stores approximately size bytes.
func (s *Store) writeSized(ctx context.Context, size int, f func(*tx) error) error {
	if err := s.writable(); err != nil {
		return err
	}
	err := s.wrap(context.WithoutCancel(ctx), s.writer.submit(ctx, &write{run: f, size: size, done: make(chan error, 1)}))
	if !errors.As(err, new(*fault.Error)) && errors.As(err, new(localError)) {
		return store.Unstorable(err)
	}
	return err
}

func (w *writer) submit(ctx context.Context, one *write) error {
	if err := ctx.Err(); err != nil {
		return fault.Unreachable(err) // the select below would choose at random
	}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return fault.Unreachable(errors.New("the database is closed"))
	}
	select {
	case w.queue <- one:
		w.mu.RUnlock()
	case <-ctx.Done():
		w.mu.RUnlock()
		return fault.Unreachable(ctx.Err())
	}
	return <-one.done
}

func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	close(w.queue)
	w.mu.Unlock()
}

func (w *writer) loop() {
	group := make([]*write, 0, maxGroup)
	for first := range w.queue {
		for first != nil {
			group, first = w.gather(append(group[:0], first))
			w.commit(group)
		}
	}
}

// gather adds the writes that have arrived to a group. It returns the write that
// would make the group too large, or nil, as left.
func (w *writer) gather(group []*write) (all []*write, left *write) {
	size := group[0].size
	for len(group) < maxGroup && len(w.queue) > 0 {
		next, ok := <-w.queue
		if !ok {
			break
		}
		if size += next.size; size > maxGroupBytes {
			return group, next
		}
		group = append(group, next)
	}
	return group, nil
}

func (w *writer) commit(group []*write) {
	inside := group[:0:0]
	for _, one := range group {
		if one.outside != nil {
			one.done <- one.outside(w.conn)
		} else {
			inside = append(inside, one)
		}
	}
	if len(inside) == 0 {
		return
	}
	notice, err := w.transact(inside)
	if err != nil && len(inside) > 1 && !errors.As(err, new(beginError)) {
		for _, one := range inside {
			w.commit([]*write{one})
		}
		return
	}
	for _, one := range inside {
		if err == nil {
			one.done <- one.refusal
		} else {
			one.done <- err
		}
	}
	w.commits.Add(1)
	if err == nil && (len(notice.Items)+len(notice.Limits) > 0 || notice.Released) {
		w.store.notify(notice)
	}
}

// beginError is why a transaction could not begin, as when another program holds the
// file locked. It says nothing about the writes of the group.
type beginError struct{ error }

func (e beginError) Unwrap() error { return e.error }

// busyPause is the pause between two attempts to begin a transaction.
const busyPause = time.Millisecond

// beginImmediate begins a transaction that writes. While another process writes, it tries
// again for some time. SQLite's own pauses grow to 100 ms: beside a process whose
// transactions follow each other closely, few such attempts meet a gap between two.
func beginImmediate(conn *sqlite.Conn, within time.Duration) (end func(*error), err error) {
	conn.SetBusyTimeout(busyPause)
	defer conn.SetBusyTimeout(busyTimeout)
	for deadline := time.Now().Add(within); ; {
		end, err = sqlitex.ImmediateTransaction(conn)
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy || time.Now().After(deadline) {
			return end, err
		}
	}
}

func (w *writer) transact(group []*write) (notice store.Notice, err error) {
	end, err := beginImmediate(w.conn, w.busyTimeout)
	if err != nil {
		return notice, beginError{err}
	}
	t := &tx{conn: w.conn, store: w.store, now: w.store.Now()}
	defer func() { w.store.uses.settle(t.used, err) }() // after the commit
	defer end(&err)
	for _, one := range group {
		one.refusal = nil
		if err := fault.Guard(func() error { return one.run(t) }); errors.As(err, new(*fault.Error)) {
			one.refusal = err
		} else if err != nil {
			return notice, err
		}
	}
	if err := w.numbers.cover(t.lastJob); err != nil {
		return notice, err
	}
	return store.Notice{Items: t.refs, Limits: t.wakes, Released: t.released}, nil
}
