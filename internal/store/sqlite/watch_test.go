package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pace"
)

// wantRefused verifies that err is an Unavailable fault with a word in its message.
func wantRefused(t *testing.T, what string, err error, word string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Unavailable || !strings.Contains(f.Message, word) || f.RetryAfter == 0 {
		t.Errorf("%s: %v, want it refused with %q", what, err, word)
	}
}

func TestWrite_RefusedAfterTheFileWasDeletedOrReplaced(t *testing.T) {
	for what, spoil := range map[string]func(path string) error{
		"deleted":     os.Remove,
		"log deleted": func(path string) error { return os.Remove(path + "-wal") },
		"replaced": func(path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".new", b, 0o600), os.Rename(path+".new", path))
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := openAt(t, filepath.Join(t.TempDir(), "p.db"), true)
			defer func() { _ = s.Close() }() // may fail
			owner := addOwner(t, s)
			if err := s.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := spoil(s.path); err != nil {
				t.Fatal(err)
			}
			s.checkNow()
			_, err := s.JobInsertMany(t.Context(), []store.NewJob{newJob(s, owner, `{}`)})
			wantRefused(t, "a create", err, "deleted or replaced")
			wantRefused(t, "a ping", s.Ping(t.Context()), "deleted or replaced")
		})
	}
}

func TestPing_FailsForADamagedDatabase(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "p.db"), true)
	defer func() { _ = s.Close() }()
	for range 50 {
		insert(t, s, newJob(s, addOwner(t, s), `{"body":"`+strings.Repeat("x", 4000)+`"}`))
	}
	if err := s.writer.submit(t.Context(), &write{outside: checkpointLog, done: make(chan error, 1)}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path, make([]byte, info.Size()), 0o600); err != nil { // the same file
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a ping: %v", err)
	}
	s.watch.probe = store.Probe{}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("the next ping succeeded")
	}
}

func TestLowSpace_RefusesNewJobsOnly(t *testing.T) {
	var free, size atomic.Int64
	free.Store(10 << 30)
	size.Store(20 << 30)
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), Options{Exclusive: true, Space: func(string) (int64, int64, error) {
		return free.Load(), size.Load(), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	owner := addOwner(t, s)
	create := func() error {
		s.checkNow()
		_, err := s.JobInsertMany(t.Context(), []store.NewJob{newJob(s, owner, `{}`)})
		return err
	}
	for _, x := range []struct {
		free, size int64
		refused    bool
		checkpoint int64
	}{
		{10 << 30, 20 << 30, false, checkpointBytes}, {64 << 20, 20 << 30, false, 8 << 20}, {64<<20 - 1, 20 << 30, true, 8<<20 - 1},
		{0, 20 << 30, true, 1 << 20}, {20 << 20, 100 << 20, false, 5 << 20 / 2}, {9 << 20, 100 << 20, true, 9 << 20 / 8},
	} {
		free.Store(x.free)
		size.Store(x.size)
		switch err := create(); {
		case x.refused:
			wantRefused(t, "a create", err, "nearly full")
		case err != nil:
			t.Errorf("%d of %d bytes free: %v", x.free, x.size, err)
		}
		if got := s.checkpointAt(); got != x.checkpoint {
			t.Errorf("%d bytes free: the log is checkpointed at %d bytes, want %d", x.free, got, x.checkpoint)
		}
		addOwner(t, s) // everything else is stored
	}
}

func TestLowSpace_TruncatesTheLog(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), Options{Exclusive: true, Space: func(string) (int64, int64, error) {
		return 1 << 20, 20 << 30, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	for logSize(t, s) < 2*minCheckpoint {
		addOwner(t, s)
	}
	s.checkpointLarge(t.Context())
	if size := logSize(t, s); size >= minCheckpoint {
		t.Errorf("the log has %d bytes", size)
	}
}

// orphan creates a database with records whose service crashed.
func orphan(t *testing.T) string {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "p.db"), true)
	t.Cleanup(func() { _ = s.Close() })
	insert(t, s, newJob(s, addOwner(t, s), `{}`))
	path := crash(t, s)
	mark, err := os.ReadFile(s.path + ".lock")
	if err := errors.Join(err, os.WriteFile(path+".lock", mark, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpen_DetectsALostLog(t *testing.T) {
	for what, spoil := range map[string]func(path string) error{
		"log missing": func(path string) error { return os.Remove(path + "-wal") },
		"log empty":   func(path string) error { return os.Truncate(path+"-wal", 0) },
		"all missing": func(path string) error { return errors.Join(os.Remove(path+"-wal"), os.Remove(path)) },
	} {
		t.Run(what, func(t *testing.T) {
			path := orphan(t)
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				s, err := Open(t.Context(), path, Options{Exclusive: true})
				if err == nil {
					closeStore(t, s)
					t.Fatal("it was opened")
				}
				if !strings.Contains(err.Error(), "missing") || !strings.Contains(err.Error(), "delete "+path+".lock") {
					t.Errorf("the error says: %v", err)
				}
			}
			if err := os.Remove(path + ".lock"); err != nil {
				t.Fatal(err)
			}
			closeStore(t, openAt(t, path, true))
		})
	}
}

func TestOpen_AfterACrashAndACommandSucceeds(t *testing.T) {
	path := orphan(t)
	closeStore(t, openAt(t, path, false)) // checkpoints the log and deletes it
	closeStore(t, openAt(t, path, true))
	closeStore(t, openAt(t, path, true))
}

func TestClose_MarksACleanShutdown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	closeStore(t, openAt(t, path, true))
	_ = os.Remove(path + "-wal")
	closeStore(t, openAt(t, path, true))
	mark, err := os.ReadFile(path + ".lock")
	if err != nil || strings.TrimSpace(string(mark)) != "stopped" {
		t.Errorf("the mark is %q, %v", mark, err)
	}
}

func TestMark_FollowsWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openAt(t, path, true)
	defer closeStore(t, s)
	mark := func() string {
		b, err := os.ReadFile(path + ".lock")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := mark()
	if !regexp.MustCompile(`^running {19,20}\d{1,2}\n$`).MatchString(first) { // more than 1 if it took long to open
		t.Errorf("the first mark is %q", first)
	}
	addOwner(t, s)
	for deadline := time.Now().Add(pace.Guard(20 * time.Second)); mark() == first; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no probe write followed a write")
		}
	}
}

func TestOpen_ExplainsUnusableFiles(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), "p.db")
	closeStore(t, openAt(t, damaged, true))
	for what, spoil := range map[string]func(b []byte){
		"is not a SQLite database, or its beginning is damaged; give another path, or restore it from a backup": func(b []byte) {
			copy(b,
				"garbage garbage!")
		},
		"is damaged; restore it from a backup": func(b []byte) { clear(b[4096:]) },
	} {
		b, err := os.ReadFile(damaged)
		if err != nil {
			t.Fatal(err)
		}
		spoil(b)
		path := filepath.Join(t.TempDir(), "spoilt.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), path, Options{Exclusive: true})
		if err == nil {
			closeStore(t, s)
		}
		if err == nil || !strings.Contains(err.Error(), path+" "+what) {
			t.Errorf("opened with %v, want %q", err, what)
		}
	}
	if os.Getuid() == 0 {
		return // root may use every file
	}
	if err := os.Chmod(damaged, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), damaged, Options{Exclusive: true}); err == nil ||
		!strings.Contains(err.Error(), damaged+" can't be read and written by") {
		t.Errorf("a file that can't be written was opened with %v", err)
	}
}
