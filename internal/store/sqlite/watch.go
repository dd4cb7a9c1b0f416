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
	// checkInterval is the interval between checks of the files and the free space.
	checkInterval = time.Second
	// minFree is how many bytes must be free to store new jobs, or a tenth of the
	// filesystem if that is less. The rest is reserved for the outcomes of stored
	// jobs.
	minFree = 64 << 20
)

// watch is the state of the database's files, checked independently of SQLite.
type watch struct {
	file, log os.FileInfo           // as they were opened
	lost      atomic.Pointer[error] // why nothing may be written; nil if writes are allowed
	damage    atomic.Pointer[error] // the first sign of damage; nil: none
	free      atomic.Int64          // bytes; -1: not known
	low       atomic.Bool           // too little is free for new jobs
	probe     store.Probe
	probed    atomic.Int64 // number of transactions at the last probe write
}

// watchFiles checks the files every checkInterval until ctx ends.
func (s *Store) watchFiles(ctx context.Context, exclusive bool) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.checkNow()
		if exclusive && s.writer.commits.Load() != s.watch.probed.Load() {
			_ = s.writeProbe(ctx) // retried in a second; Ping reports the error
		}
	}
}

// checkNow compares the files with those that were opened and measures the free space.
func (s *Store) checkNow() {
	s.watch.lost.Store(s.changed())
	free, size, err := s.space(filepath.Dir(s.path))
	if err != nil {
		s.watch.free.Store(-1)
		s.watch.low.Store(false)
		return
	}
	s.watch.free.Store(free)
	s.watch.low.Store(free < min(minFree, size/10))
}

// changed returns an error naming the file that was deleted or replaced; nil if
// both files are those that were opened.
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

// writable returns an Unavailable fault if writes would be lost.
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

// hasSpace returns an Unavailable fault if there is too little space for new jobs.
func (s *Store) hasSpace() error {
	if !s.watch.low.Load() {
		return nil
	}
	return &fault.Error{
		Code: fault.Unavailable, Message: "the disk of the database is nearly full, so no new jobs are stored; the operator has to free some space, then try again",
		RetryAfter: time.Minute, Cause: fmt.Errorf("only %d MiB are free for %s", s.watch.free.Load()>>20, s.path),
	}
}

// Free returns how many bytes are free for the database; -1 if unknown.
func (s *Store) Free() int64 { return s.watch.free.Load() }

// Ping implements store.Store: it writes, and reads the first and last row of
// each large table.
func (s *Store) Ping(ctx context.Context) error {
	if s.life.Err() != nil {
		return fault.Unreachable(errors.New("the database is closed"))
	}
	if err := s.writable(); err != nil {
		return err
	}
	err := s.watch.probe.Do(ctx, func(ctx context.Context) error {
		if err := s.writeProbe(ctx); err != nil {
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

// ends reads the first and the last row of each large table.
func (t *tx) ends() error {
	for _, query := range [...]string{
		`SELECT args, packed FROM jobs ORDER BY number LIMIT 1`, `SELECT args, packed FROM jobs ORDER BY number DESC LIMIT 1`,
		`SELECT payload, packed FROM logs ORDER BY seq LIMIT 1`, `SELECT payload, packed FROM logs ORDER BY seq DESC LIMIT 1`,
		`SELECT lane FROM runs ORDER BY due, kind, number LIMIT 1`, `SELECT email FROM accounts ORDER BY number LIMIT 1`,
		`SELECT id FROM keys ORDER BY id LIMIT 1`, `SELECT id FROM schedules ORDER BY id LIMIT 1`,
		`SELECT number FROM deliveries ORDER BY number LIMIT 1`,
	} {
		if err := t.exec(query); err != nil {
			return err
		}
	}
	return nil
}

// writeProbe increments the database's probe count and, for a node, writes it to the
// lock file.
func (s *Store) writeProbe(ctx context.Context) error {
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
	s.watch.probed.Store(s.writer.commits.Load())
	return s.mark(n)
}
