package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID identifies punctual's database files ("punc").
const applicationID = 0x70756e63

const busyTimeout = 10 * time.Second

// Options configure Open.
type Options struct {
	// Exclusive locks the file for one process that runs jobs; a second one gets an
	// error. Commands that only read and write records don't need it.
	Exclusive bool
	// Now is the clock that decides what is due; nil for the system's.
	Now func() time.Time
	// Space returns the free bytes and the size of a directory's filesystem; nil
	// asks the system.
	Space func(dir string) (free, size int64, err error)
}

// Store is a SQLite database.
type Store struct {
	*records.Records
	now          func() time.Time
	path         string
	lock         *flock.Flock
	writer       *writer
	pools        pools
	statements   statements
	readWithin   time.Duration // store.ReadWithin, except in tests
	notify       func(store.Notice)
	accounts     owners
	uses         uses
	limited      atomic.Bool  // there may be items with limits
	settled      atomic.Bool  // no queue item is abandoned or will be
	truncates    atomic.Bool  // the log's file is truncated when the log restarts
	checkpointed atomic.Int64 // pages of the log that the last checkpoint beside the writer had copied
	watch        watch
	space        func(dir string) (free, size int64, err error)
	marking      sync.Mutex // held while the mark is written
	stop         context.CancelFunc
	life         context.Context // ends with the store
	done         sync.WaitGroup
	closing      sync.Once
	closed       error // the result of Close
}

var _ store.Store = (*Store)(nil)

// Open opens the database file at path, creates it if it does not exist, and
// migrates its tables.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s := &Store{
		now: opts.Now, path: path, readWithin: store.ReadWithin, notify: func(store.Notice) {},
		accounts: owners{ids: map[int64]uuid.UUID{}},
	}
	s.Records = records.New(recordsEngine{s})
	if s.now == nil {
		s.now = time.Now
	}
	if s.space = opts.Space; s.space == nil {
		s.space = diskSpace
	}
	if err := s.open(ctx, opts); err != nil {
		err = explain(path, err)
		if s.lock != nil {
			_ = s.lock.Unlock() // the caller returns the other error
		}
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, opts Options) error {
	if strings.HasPrefix(s.path, ":") {
		return fmt.Errorf("the database must be a file, not %s, since it has to outlive the process", s.path)
	}
	if _, err := os.Stat(filepath.Dir(s.path)); err != nil {
		return fmt.Errorf("the directory of the database %s can't be used; create it or choose another path: %w", s.path, err)
	}
	if err := checkFiles(s.path); err != nil {
		return err
	}
	if opts.Exclusive {
		s.lock = flock.New(s.path + ".lock")
		if held, err := s.lock.TryLock(); err != nil {
			return fmt.Errorf("locking %s: %w", s.path, err)
		} else if !held {
			s.lock = nil
			return fmt.Errorf("the database %s is in use by another punctual; stop that one first, or use PostgreSQL to run several nodes",
				s.path)
		}
	}
	if err := checkMark(s.path); err != nil {
		return err
	}
	if err := createPrivate(s.path); err != nil {
		return fmt.Errorf("creating the database %s; check the path and its permissions: %w", s.path, err)
	}
	conn, err := sqlite.OpenConn(s.path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return fmt.Errorf("opening the database %s; check the path and its permissions: %w", s.path, err)
	}
	if err := prepareWriter(ctx, conn); err != nil {
		return errors.Join(fmt.Errorf("preparing the database %s: %w", s.path, err), conn.Close())
	}
	if err := s.limitLog(conn); err != nil {
		return errors.Join(fmt.Errorf("preparing the database %s: %w", s.path, err), conn.Close())
	}
	if err := s.pools.open(s.path); err != nil {
		return errors.Join(fmt.Errorf("opening the database %s for reading: %w", s.path, err), conn.Close())
	}
	numbers, err := openNumbers(s.path, conn)
	if err != nil {
		return errors.Join(err, s.pools.close(), conn.Close())
	}
	background, stop := context.WithCancel(context.Background())
	s.life, s.stop = background, stop
	s.writer = newWriter(s, conn)
	s.writer.numbers = numbers
	s.done.Go(s.writer.loop)
	if err := s.begin(ctx, opts.Exclusive); err != nil {
		return errors.Join(err, s.Close())
	}
	if err := s.readLimited(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	s.done.Go(func() { s.checkpoint(background) })
	s.done.Go(func() { s.watchFiles(background, opts.Exclusive) })
	return nil
}

// begin checks the opened files. For a node it also writes the first probe.
func (s *Store) begin(ctx context.Context, exclusive bool) error {
	s.checkNow()
	if !exclusive {
		return nil
	}
	if err := s.writeProbe(ctx); err != nil {
		return fmt.Errorf("writing to the database %s: %w", s.path, err)
	}
	if err := s.read(ctx, (*tx).ends); err != nil {
		return fmt.Errorf("reading the database %s: %w", s.path, err)
	}
	s.checkNow()
	return nil
}

// createPrivate creates the file if it does not exist, readable only by its
// owner, because it contains signing secrets. SQLite gives its other files the
// same mode.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// The caches of the connection that writes and of each that reads, in bytes. They
// are outside Go's heap, so its memory limit knows nothing of them: with all
// connections in use they come to 60 MiB. What they lack, the kernel's has.
const (
	writerCache = 32 << 20
	readerCache = 2 << 20
)

func prepareWriter(ctx context.Context, conn *sqlite.Conn) error {
	conn.SetBusyTimeout(busyTimeout)
	conn.SetInterrupt(ctx.Done())
	defer conn.SetInterrupt(nil)
	if err := enterWAL(conn); err != nil {
		return err
	}
	for _, pragma := range []string{
		`PRAGMA synchronous = FULL`,
		`PRAGMA wal_autocheckpoint = 0`, // see checkpoint
		fmt.Sprintf(`PRAGMA cache_size = -%d`, writerCache>>10),
		`PRAGMA temp_store = MEMORY`,
	} {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			return err
		}
	}
	return migrate(ctx, conn)
}

// enterWAL switches to WAL mode. It retries while another connection does the
// same, for which SQLite does not wait.
func enterWAL(conn *sqlite.Conn) error {
	for deadline := time.Now().Add(busyTimeout); ; time.Sleep(10 * time.Millisecond) {
		err := sqlitex.ExecuteTransient(conn, `PRAGMA journal_mode = WAL`, nil)
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy || time.Now().After(deadline) {
			return err
		}
	}
}

func migrate(ctx context.Context, conn *sqlite.Conn) error {
	schema, err := schema()
	if err != nil {
		return err
	}
	version, err := number(conn, `PRAGMA user_version`)
	if err != nil {
		return err
	}
	if err := knownVersion(version, schema); err != nil {
		return err
	}
	application, err := number(conn, `PRAGMA application_id`)
	if err != nil {
		return err
	}
	if application == applicationID && version == int64(len(schema.Migrations)) {
		return nil // without a write, which would wait for those of a service
	}
	return sqlitemigration.Migrate(ctx, conn, schema)
}

func knownVersion(version int64, schema sqlitemigration.Schema) error {
	if known := len(schema.Migrations); version > int64(known) {
		return fmt.Errorf("it was made by a newer punctual (tables of version %d, this one knows %d); use that version", version, known)
	}
	return nil
}

func schema() (sqlitemigration.Schema, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return sqlitemigration.Schema{}, err
	}
	schema := sqlitemigration.Schema{AppID: applicationID}
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return schema, err
		}
		schema.Migrations = append(schema.Migrations, string(text))
	}
	return schema, nil
}

// Subscribe implements store.Store.
func (s *Store) Subscribe(f func(store.Notice)) { s.notify = f }

// Now implements store.Queue.
func (s *Store) Now() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// Close implements store.Store. Further calls return the first result.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	s.stop()
	s.writer.close()
	s.done.Wait()
	err := errors.Join(s.pools.close(), s.writer.conn.Close(), s.writer.numbers.file.Close())
	if s.lock != nil {
		if err == nil {
			err = s.writeMark(markStopped)
		}
		err = errors.Join(err, s.lock.Unlock())
	}
	return err
}

// wrap turns errors that mean the database can't be used now into faults.
func (s *Store) wrap(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fault.Unreachable(errors.Join(ctx.Err(), err))
	}
	result := sqlite.ErrCode(err).ToPrimary()
	if result == sqlite.ResultCorrupt || result == sqlite.ResultNotADB {
		s.watch.damage.CompareAndSwap(nil, &err)
	}
	switch result {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultFull, sqlite.ResultIOErr, sqlite.ResultCantOpen, sqlite.ResultReadOnly,
		sqlite.ResultInterrupt,
		sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultNoMem, sqlite.ResultProtocol, sqlite.ResultAbort:
		return fault.Unreachable(err)
	case sqlite.ResultTooBig, sqlite.ResultConstraint, sqlite.ResultMismatch, sqlite.ResultRange:
		return store.Unstorable(err)
	}
	if errors.As(err, new(*fault.PanicError)) {
		return store.Unstorable(err)
	}
	return err
}
