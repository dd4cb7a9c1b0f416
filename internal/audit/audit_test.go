package audit

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// entries collects the stored entries.
type entries struct {
	store.Audits
	stored []*identity.AuditEntry
	err    error
	ctxErr error
}

func (e *entries) AuditInsert(ctx context.Context, a *identity.AuditEntry) error {
	e.stored, e.ctxErr = append(e.stored, a), ctx.Err()
	return e.err
}

var (
	now   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	owner = job.Owner{ID: uuid.MustParse("41d7f28b-dfbe-44b8-b716-b91898bb0ce0"), Number: 7}
)

func TestAudit_StoresAndLogsAnEntry(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	e := &entries{}
	l := New(e, func() time.Time { return now }, slog.New(slog.NewJSONHandler(&logged, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the client went away
	l.Audit(ctx, Entry{Account: owner, Actor: Actor{ByKey, "sk_abc", "192.0.2.1"}, Event: KeyCreated, Detail: "a\nb\x00c",
		Same: "192.0.2.0"})
	got := e.stored[0]
	if e.ctxErr != nil || got.Account != 7 || got.Event != "key.created" || got.ActorKind != "key" || got.ActorName != "sk_abc" ||
		got.Address != "192.0.2.1" ||
		got.Detail != "a b c" || got.Count != 1 || !got.InsertedAt.Equal(now) || !got.LastAt.Equal(now) ||
		got.Slot != "key.created 492324 192.0.2.0" {
		t.Errorf("stored, with %v: %+v", e.ctxErr, got)
	}
	want := `"msg":"audit","event":"key.created","actor":"key","name":"sk_abc","account":"41d7f28b-dfbe-44b8-b716-b91898bb0ce0","address":"192.0.2.1","detail":"a b c"}`
	if !strings.HasSuffix(logged.String(), want+"\n") {
		t.Errorf("logged %s\nwant %s", logged.String(), want)
	}
}

func TestAudit_BoundsTexts(t *testing.T) {
	t.Parallel()
	e := &entries{}
	long := strings.Repeat("é", 10_000)
	New(e, func() time.Time { return now }, nil).Audit(t.Context(),
		Entry{Actor: Actor{long, long, long}, Event: long, Detail: long + "\xff", Same: long})
	a := e.stored[0]
	if size := len(a.Event) + len(a.ActorKind) + len(a.ActorName) + len(a.Address) + len(a.Detail) + len(a.Slot); size > 2000 {
		t.Errorf("an entry has %d bytes", size)
	}
	if a.Detail != strings.Repeat("é", 250) {
		t.Errorf("the detail is %q", a.Detail)
	}
}

func TestAudit_LogsAFailureAndNilDropsEntries(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	e := &entries{err: errors.New("disk full")}
	New(e, func() time.Time { return now }, slog.New(slog.NewTextHandler(&logged, nil))).Audit(t.Context(), Entry{Event: SignedIn})
	if !strings.Contains(logged.String(), `level=ERROR msg="storing an entry of the audit log failed" event=signin.succeeded error="disk full"`) {
		t.Errorf("logged %s", logged.String())
	}
	var none *Log
	none.Audit(t.Context(), Entry{Event: SignedIn})
}
