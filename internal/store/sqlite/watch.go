package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// lookEvery is how often the files and the free space are looked at.
	lookEvery = time.Second
	// lowWater is how much space has to be free for new jobs to be stored, in
	// bytes, or a tenth of the filesystem where that is less. The rest is for
	// what becomes of the jobs that are stored already.
	lowWater = 64 << 20
)

// watch is what is known of the database's files beside what SQLite says.
type watch struct {
	file, log os.FileInfo           // as they were opened
	lost      atomic.Pointer[error] // why nothing may be written; nil: it may
	damage    atomic.Pointer[error] // the first sign of damage; nil: none
	free      atomic.Int64          // bytes; -1: not known
	low       atomic.Bool           // too little is free for new jobs
	probe     store.Probe
	beaten    atomic.Int64 // how many transactions there were at the last beat
}

// tend looks after the files until ctx ends.
func (s *Store) tend(ctx context.Context, exclusive bool) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.look()
		if exclusive && s.writer.commits.Load() != s.watch.beaten.Load() {
			_ = s.beat(ctx) // the next one is soon to come, and Ping tells
		}
	}
}

// look compares the files with those that were opened, and measures the free space.
func (s *Store) look() {
	s.watch.lost.Store(s.changed())
	free, size, err := s.space(filepath.Dir(s.path))
	if err != nil {
		s.watch.free.Store(-1)
		s.watch.low.Store(false)
		return
	}
	s.watch.free.Store(free)
	s.watch.low.Store(free < min(lowWater, size/10))
}

// changed says which file is not the one that was opened; nil when both are.
func (s *Store) changed() *error {
	for path, known := range map[string]*os.FileInfo{s.path: &s.watch.file, s.path + "-wal": &s.watch.log} {
		info, err := os.Stat(path)
		switch {
		case *known == nil:
			if err == nil {
				*known = info
			}
		case errors.Is(err, os.ErrNotExist):
			err := fmt.Errorf("%s was deleted while the service runs", path)
			return &err
		case err == nil && !os.SameFile(info, *known):
			err := fmt.Errorf("%s was replaced while the service runs", path)
			return &err
		}
	}
	return nil
}

// writable returns an Unavailable fault when what is written would be lost.
func (s *Store) writable() error {
	cause := s.watch.lost.Load()
	if cause == nil {
		return nil
	}
	return &fault.Error{
		Code: fault.Unavailable, Message: "the files of the database were deleted or replaced, so nothing can be stored; the operator has to put them back and restart the service",
		RetryAfter: time.Minute, Cause: *cause,
	}
}

// roomy returns an Unavailable fault when there is too little space for new jobs.
func (s *Store) roomy() error {
	if !s.watch.low.Load() {
		return nil
	}
	return &fault.Error{
		Code: fault.Unavailable, Message: "the disk of the database is nearly full, so no new jobs are stored; the operator has to free some space, then try again",
		RetryAfter: time.Minute, Cause: fmt.Errorf("only %d MiB are free for %s", s.watch.free.Load()>>20, s.path),
	}
}

// Free returns how many bytes are free for the database; -1 when that is not known.
func (s *Store) Free() int64 { return s.watch.free.Load() }

// Ping implements store.Store: it writes, and reads both ends of each table.
func (s *Store) Ping(ctx context.Context) error {
	if s.life.Err() != nil {
		return fault.Unreachable(errors.New("the database is closed"))
	}
	if err := s.writable(); err != nil {
		return err
	}
	err := s.watch.probe.Do(ctx, func(ctx context.Context) error {
		if err := s.beat(ctx); err != nil {
			return err
		}
		return s.read(ctx, (*tx).ends)
	})
	if damage := s.watch.damage.Load(); err == nil && damage != nil {
		err = *damage
	}
	if err != nil && fault.CodeOf(err) != fault.Unavailable {
		err = fault.Unreachable(err)
	}
	return err
}

// ends reads a row from both ends of each of the large tables.
func (t *tx) ends() error {
	for _, query := range [...]string{
		`SELECT args FROM jobs ORDER BY number LIMIT 1`, `SELECT args FROM jobs ORDER BY number DESC LIMIT 1`,
		`SELECT payload FROM logs ORDER BY seq LIMIT 1`, `SELECT payload FROM logs ORDER BY seq DESC LIMIT 1`,
		`SELECT lane FROM runs ORDER BY due, kind, number LIMIT 1`, `SELECT email FROM accounts ORDER BY number LIMIT 1`,
		`SELECT id FROM keys ORDER BY id LIMIT 1`, `SELECT id FROM schedules ORDER BY id LIMIT 1`, `SELECT number FROM deliveries ORDER BY number LIMIT 1`,
	} {
		if err := t.exec(query); err != nil {
			return err
		}
	}
	return nil
}

// beat writes one more beat into the database and, for a node, how many there
// were beside it.
func (s *Store) beat(ctx context.Context) error {
	var n int64
	err := s.write(ctx, func(t *tx) error {
		return t.query(`UPDATE probes SET beat = beat + 1 RETURNING beat`, func(stmt *sqlite.Stmt) error {
			n = stmt.ColumnInt64(0)
			return nil
		})
	})
	if err != nil || s.lock == nil {
		return err
	}
	s.watch.beaten.Store(s.writer.commits.Load())
	return s.mark(n)
}
