package app

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/copydb"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/sqlite"
)

// file names a database in a new file.
func file(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "punctual.db")
}

// in calls do with an opened database.
func in(t *testing.T, url string, do func(store.Copyable) error) {
	t.Helper()
	s, err := openStore(t.Context(), "--database-url", url, sqlite.Options{Exclusive: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := do(s); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// inUse makes a database with an account.
func inUse(t *testing.T) string {
	t.Helper()
	url := file(t)
	in(t, url, func(s store.Copyable) error {
		return s.AccountInsert(t.Context(), &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: "ann@example.com",
			CreatedAt: s.Now()})
	})
	return url
}

func copyNow(t *testing.T, from, to string) error {
	t.Helper()
	_, err := Copy(t.Context(), CopyConfig{From: from, To: to, Progress: func(copydb.Progress) {}})
	return err
}

func TestNoNodeStartsOnAnUnfinishedCopy(t *testing.T) {
	t.Parallel()
	from, to := inUse(t), file(t)
	in(t, to, func(s store.Copyable) error {
		_, err := s.CopyBegin(t.Context(), "another source")
		return err
	})
	config := Config{Listen: "127.0.0.1:0", DatabaseURL: to, Log: slog.New(slog.DiscardHandler),
		Listening: func(string) { t.Error("it serves") }}
	if err := Run(t.Context(), config); err == nil ||
		!strings.Contains(err.Error(), "a copy that is not finished; start punctual copy again") {
		t.Errorf("starting on an unfinished copy: %v", err)
	}
	if err := copyNow(t, from, to); err == nil || !strings.HasPrefix(err.Error(),
		"--to: it is not empty, or holds an unfinished copy of other records") {
		t.Errorf("copying to an unfinished copy of others: %v", err)
	}
}

func TestAttemptsOfAProcessThatIsGoneAreEndedFirst(t *testing.T) {
	t.Parallel()
	from, to := inUse(t), file(t)
	in(t, from, func(s store.Copyable) error {
		a, err := s.AccountGet(t.Context(), "ann@example.com")
		if err != nil {
			return err
		}
		now := s.Now()
		j := &job.Job{
			ID: job.NewID(now), Owner: a.Owner, InsertedAt: now, ScheduledAt: now, DueAt: now, State: job.Available,
			Args: []byte(`{"url":"https://example.com","method":"get","headers":{}}`),
		}
		if _, err := s.JobInsertMany(t.Context(), []store.NewJob{{Job: j}}); err != nil {
			return err
		}
		node, err := s.NodeStart(t.Context())
		if err != nil {
			return err
		}
		// Begun a moment ahead, as attempts are claimed.
		ref := store.QueueKey{ItemID: store.ItemID{Number: j.Number}, Due: j.DueAt, Account: a.Number, Revision: 1}
		_, err = s.QueueClaim(t.Context(), node, []store.Claim{{QueueKey: ref, Attempt: 1, StartAt: now.Add(time.Minute)}})
		return err
	})
	if err := copyNow(t, from, to); err != nil {
		t.Fatal(err)
	}
	in(t, to, func(s store.Copyable) error {
		counts, err := s.JobCounts(t.Context())
		if counts[job.Retryable] != 1 {
			t.Errorf("the copy has jobs %v, want one to be attempted again", counts)
		}
		claimed, _, err2 := s.QueueClaimed(t.Context())
		if claimed != 0 || err2 != nil {
			t.Errorf("%d runs are claimed in the copy, %v", claimed, err2)
		}
		return err
	})
}

func TestWhatCantBeCopied(t *testing.T) {
	t.Parallel()
	used := inUse(t)
	for name, c := range map[string]struct{ from, to, want string }{
		"nothing there":  {file(t), file(t), "--from: the database "},
		"nothing in it":  {made(t), file(t), "the source has no accounts"},
		"one database":   {used, used, "--from and --to name the same database"},
		"another one":    {"mysql://localhost/x", file(t), `--from "mysql://localhost/x" is not understood`},
		"a used target":  {used, inUse(t), "--to: it is not empty"},
		"no target":      {used, "sqlite:", `--to "sqlite:" is not understood`},
		"no URL":         {used, "postgres://localhost:port/x", "--to: the database URL can't be read"},
		"the same again": {used, copiedTo(t, used), "--to: it is a finished copy of the same records already"},
	} {
		if err := copyNow(t, c.from, c.to); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// made makes an empty database.
func made(t *testing.T) string {
	t.Helper()
	url := file(t)
	in(t, url, func(store.Copyable) error { return nil })
	return url
}

func copiedTo(t *testing.T, from string) string {
	t.Helper()
	to := file(t)
	if err := copyNow(t, from, to); err != nil {
		t.Fatal(err)
	}
	return to
}
