package sqlite

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// together runs writes in one group, as the writer's loop does with writes that
// arrive during a commit.
func together(s *Store, runs ...func(*tx) error) []error {
	group := make([]*write, len(runs))
	for i, run := range runs {
		group[i] = &write{run: run, done: make(chan error, 1)}
	}
	s.writer.commit(group)
	errs := make([]error, len(runs))
	for i, one := range group {
		errs[i] = <-one.done
	}
	return errs
}

func openTest(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestWriter_RefusedWriteDoesNotAffectItsGroup(t *testing.T) {
	s := openTest(t)
	runs := 0
	errs := together(s,
		func(*tx) error { runs++; return nil },
		func(*tx) error { return fault.NoSuch("job") },
		func(*tx) error { runs++; return nil },
	)
	if runs != 2 {
		t.Errorf("the others ran %d times in all, want once each", runs)
	}
	if errs[0] != nil || fault.CodeOf(errs[1]) != fault.NotFound || errs[2] != nil {
		t.Errorf("got %v", errs)
	}
}

func TestWriter_FailedWriteDoesNotAffectItsGroup(t *testing.T) {
	s := openTest(t)
	broken := errors.New("broken")
	insert := func(value string) func(*tx) error {
		return func(t *tx) error {
			return t.exec(`INSERT INTO accounts (id, email, created_at) VALUES (?, ?, 1)`, []byte(value), value)
		}
	}
	errs := together(s, insert("a"), func(t *tx) error { return errors.Join(insert("half")(t), broken) }, insert("b"))
	if errs[0] != nil || !errors.Is(errs[1], broken) || errs[2] != nil {
		t.Errorf("got %v", errs)
	}
	accounts := 0
	err := s.read(t.Context(), func(t *tx) error {
		return t.Run(records.Query{SQL: `SELECT count(*) FROM accounts`, Row: func(row records.Row) error { return row.Scan(&accounts) }})
	})
	if err != nil || accounts != 2 {
		t.Errorf("%d accounts stored (%v), want a and b", accounts, err)
	}
}

// A refusal leaves the group's transaction as it is, so it must not come after a change.
func TestRecords_RefusalAfterAChangeIsRolledBack(t *testing.T) {
	s := openTest(t)
	block := records.Query{SQL: `INSERT INTO blocked_targets (target, reason, blocked_at) VALUES ('a.example', '', 1)`}
	refuse := records.Query{SQL: `DELETE FROM blocked_targets WHERE target = 'b.example'`, None: fault.NoSuch("blocked target")}
	write := func(queries ...records.Query) error {
		return recordsEngine{s}.Write(t.Context(), func(records.Tx) ([]records.Query, error) { return queries, nil })
	}
	if err := write(block, refuse); err == nil || errors.As(err, new(*fault.Error)) {
		t.Errorf("a refusal after a change returned %v", err)
	}
	if blocked, err := s.TargetBlocks(t.Context()); err != nil || len(blocked) > 0 {
		t.Errorf("the change was stored: %v, %v", blocked, err)
	}
	if err := write(refuse, block); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a refusal before a change returned %v", err)
	}
}

func TestWriter_BoundsTheBytesOfAGroup(t *testing.T) {
	w := newWriter(nil, nil)
	for _, size := range []int{1 << 20, 1 << 20, 2 << 20, 0, 9 << 20, 1} {
		w.queue <- &write{size: size}
	}
	var groups []int
	for first := <-w.queue; first != nil; {
		var group []*write
		group, first = w.gather([]*write{first})
		groups = append(groups, len(group))
		if first == nil && len(w.queue) > 0 {
			first = <-w.queue
		}
	}
	if want := []int{4, 1, 1}; !slices.Equal(groups, want) {
		t.Errorf("groups of %v writes, want %v", groups, want)
	}
}

// Each write waits for a locked file once, with its group, not for those before it too.
func TestWriter_AGroupWaitsOnceForALockedFile(t *testing.T) {
	s := openTest(t)
	other, err := sqlite.OpenConn(s.path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	s.writer.busyTimeout = time.Millisecond
	lock, err := sqlitex.ImmediateTransaction(other)
	if err != nil {
		t.Fatal(err)
	}
	group := make([]*write, 3)
	for i := range group {
		group[i] = &write{run: func(*tx) error { return nil }, done: make(chan error)}
	}
	go s.writer.commit(group)
	errs := []error{<-group[0].done}
	lock(&err)
	errs = append(errs, <-group[1].done, <-group[2].done)
	for i, err := range errs {
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			t.Errorf("write %d returned %v, want that the file is locked", i, err)
		}
	}
}

// A write that fails by a mistake of this program is refused, so that its batch divides;
// a read is no outage either.
func TestStore_OwnMistakesAreNoOutage(t *testing.T) {
	s := openTest(t)
	for name, run := range map[string]func(*tx) error{
		"an unknown table":   func(t *tx) error { return t.exec(`INSERT INTO nothing VALUES (1)`) },
		"too many arguments": func(t *tx) error { return t.exec(`SELECT ?`, 1, 2) },
		"no JSON":            func(t *tx) error { return t.exec(`SELECT json_extract('{', '$')`) },
		"a row that can't be read": func(t *tx) error {
			return t.query(`SELECT 1`, func(*sqlite.Stmt) error { return errors.New("no text of this service") })
		},
	} {
		if err := s.write(t.Context(), run); !store.IsUnstorable(err) {
			t.Errorf("writing %s: %v", name, err)
		}
		err := s.read(t.Context(), run)
		if code := fault.CodeOf(err); err == nil || code == fault.Unavailable {
			t.Errorf("reading %s: %v", name, err)
		}
	}
	chosen := fault.NoSuch("job")
	if err := s.write(t.Context(), func(t *tx) error {
		return t.query(`SELECT 1`,
			func(*sqlite.Stmt) error { return chosen })
	}); !errors.Is(err, chosen) {
		t.Errorf("a fault of reading a row: %v", err)
	}
}
