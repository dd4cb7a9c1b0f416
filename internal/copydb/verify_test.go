package copydb

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// altering is a target that stores altered records.
type altering struct {
	store.Copyable
	alter func(*store.Records)
	peek  func([]store.QueueKey) []store.QueueKey
}

func (a *altering) CopyWrite(ctx context.Context, source, mark string, records *store.Records) error {
	if a.alter != nil {
		a.alter(records)
	}
	return a.Copyable.CopyWrite(ctx, source, mark, records)
}

func (a *altering) QueuePeek(ctx context.Context, after store.QueueKey, until time.Time, limit int) ([]store.QueueKey, error) {
	refs, err := a.Copyable.QueuePeek(ctx, after, until, limit)
	if a.peek != nil {
		refs = a.peek(refs)
	}
	return refs, err
}

// first replaces the first of some records by a changed copy.
func first[T any](records []*T, change func(*T)) {
	if len(records) > 0 {
		changed := *records[0]
		change(&changed)
		records[0] = &changed
	}
}

// firstJob changes the first job in a state.
func firstJob(r *store.Records, state job.State, change func(*store.StoredJob)) {
	for i, j := range r.Jobs {
		if j.State == state {
			changed := *j.Job
			r.Jobs[i].Job = &changed
			change(&r.Jobs[i])
			return
		}
	}
}

func TestCopy_DetectsDifferences(t *testing.T) {
	t.Parallel()
	from := openSQLite(t)
	newFiller(t, from).fill()
	for name, c := range map[string]struct {
		alter func(*store.Records)
		want  string // sections
	}{
		"an account lacks a secret": {func(r *store.Records) { first(r.Accounts, func(a *identity.Account) { a.Secrets = a.Secrets[:1] }) },
			"accounts (2 in both"},
		"a password is another": {func(r *store.Records) { first(r.People, func(p *identity.Person) { p.Password = "x" }) },
			"people (3 in both"},
		"an email is another": {func(r *store.Records) { first(r.Accounts, func(a *identity.Account) { a.Email = "x" + a.Email }) },
			"accounts (2 in both"},
		"a person's role": {func(r *store.Records) { first(r.Members, func(m *identity.Member) { m.Role = "x" }) },
			"members (6 in both"},
		"an invitation is missing": {func(r *store.Records) { r.Members = r.Members[:max(len(r.Members)-1, 0)] },
			"members (6 in the source, 5 in the copy)"},
		"a key is missing": {func(r *store.Records) { r.Keys = r.Keys[min(1, len(r.Keys)):] },
			"keys (6 in the source, 5 in the copy)"},
		"a secret is missing": {func(r *store.Records) { r.HeaderSecrets = r.HeaderSecrets[min(1, len(r.HeaderSecrets)):] },
			"secrets (4 in the source, 3 in the copy)"},
		"an alert is missing": {func(r *store.Records) { r.Alerts = r.Alerts[min(1, len(r.Alerts)):] },
			"alerts (4 in the source, 3 in the copy)"},
		"a revoked key is back": {func(r *store.Records) { revive(r.Keys) }, "keys (6 in both"},
		"a key's hash is another": {func(r *store.Records) { first(r.Keys, func(k *identity.Key) { k.Hash = []byte("x") }) },
			"keys (6 in both"},
		"a schedule is missing": {func(r *store.Records) { r.Schedules = r.Schedules[min(1, len(r.Schedules)):] },
			"schedules (6 in the source, 5 in the copy)"},
		"a schedule's epoch": {func(r *store.Records) { first(r.Schedules, func(s *job.Schedule) { s.Epoch++ }) },
			"schedules (6 in both"},
		"a previous null is none": {func(r *store.Records) { forget(r.Schedules) }, "schedules (6 in both"},
		"a job is missing":        {func(r *store.Records) { r.Jobs = r.Jobs[min(1, len(r.Jobs)):] }, "jobs (626 in the source, 62"},
		"a job's description": {func(r *store.Records) {
			firstJob(r, job.Available, func(j *store.StoredJob) { j.Description = ptr("") })
		}, "jobs (626 in both"},
		"a job's args": {func(r *store.Records) {
			firstJob(r, job.Completed, func(j *store.StoredJob) { j.Args = rawjson.Value(`{}`) })
		}, "jobs (626 in both"},
		"a job's attempts": {func(r *store.Records) {
			firstJob(r, job.Retryable, func(j *store.StoredJob) { j.Attempt = 0 })
		}, "jobs (626 in both"},
		"a job is due later": {func(r *store.Records) {
			firstJob(r, job.Available, func(j *store.StoredJob) { j.DueAt = j.DueAt.Add(time.Microsecond) })
		}, "runs (620 in both"},
		"a log is missing": {func(r *store.Records) { r.Logs = r.Logs[min(1, len(r.Logs)):] },
			"logs (66 in the source, 65 in the copy)"},
		"a log's payload": {func(r *store.Records) {
			first(r.Logs,
				func(l *job.Log) { l.Payload = rawjson.Value(`{}`) })
		}, "logs (66 in both"},
		"a delivery is missing": {func(r *store.Records) { r.Deliveries = r.Deliveries[min(1, len(r.Deliveries)):] },
			"deliveries (10 in the source, 9 in the copy)"},
		"a delivery's tries": {func(r *store.Records) {
			first(r.Deliveries,
				func(d *store.PendingDelivery) { d.Attempt++ })
		}, "deliveries (10 in both"},
		"an entry of the audit log is missing": {func(r *store.Records) { r.Audits = r.Audits[min(1, len(r.Audits)):] },
			"audits (15 in the source, 14 in the copy)"},
		"an entry's count": {func(r *store.Records) { first(r.Audits, func(a *identity.AuditEntry) { a.Count++ }) },
			"audits (15 in both"},
		"a second factor": {func(r *store.Records) { withoutFactor(r.People) }, "people (3 in both"},
		"a key's scope": {func(r *store.Records) { first(r.Keys, func(k *identity.Key) { k.Scope = "" }) },
			"keys (6 in both"},
		"a key's networks": {func(r *store.Records) {
			first(r.Keys,
				func(k *identity.Key) { k.CIDRs = []string{"x"} })
		}, "keys (6 in both"},
		"a delivery waits": {func(r *store.Records) {
			first(r.Deliveries,
				func(d *store.PendingDelivery) { d.Waits = true })
		}, "runs (620 in the source, 619 in the copy)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantDifference(t, from, &altering{Copyable: openSQLite(t), alter: c.alter}, c.want)
		})
	}
	t.Run("a run is missing", func(t *testing.T) {
		t.Parallel()
		wantDifference(t, from, &altering{Copyable: openSQLite(t), peek: func(refs []store.QueueKey) []store.QueueKey {
			return refs[min(1, len(refs)):]
		}}, "runs (620 in the source, 61")
	})
}

func wantDifference(t *testing.T, from, to store.Copyable, want string) {
	t.Helper()
	_, err := Copy(t.Context(), from, to, func(Progress) {})
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "copy again") {
		t.Errorf("want a difference in %s, got %v", want, err)
	}
	if unfinished, err := to.CopyUnfinished(t.Context()); !unfinished || err != nil {
		t.Errorf("a copy that differs counts as whole: %v", err)
	}
}

// revive removes the revocation of a key.
func revive(keys []*identity.Key) {
	for i, k := range keys {
		if !k.RevokedAt.IsZero() {
			changed := *k
			changed.RevokedAt = time.Time{}
			keys[i] = &changed
		}
	}
}

// forget removes a previous response that was null.
func forget(schedules []*job.Schedule) {
	for i, s := range schedules {
		if string(s.Previous) == "null" {
			changed := *s
			changed.Previous = nil
			schedules[i] = &changed
		}
	}
}

func TestChecksum_IgnoresTheZoneOfATime(t *testing.T) {
	t.Parallel()
	sum := func(at time.Time) [32]byte {
		c := newChecksum()
		c.add(&job.Log{InsertedAt: at})
		return c.sum()
	}
	at := time.Now()
	if sum(at) != sum(at.UTC()) {
		t.Error("the same instant has two checksums")
	}
	if sum(at) == sum(at.Add(time.Microsecond)) || sum(time.Time{}) == sum(time.UnixMicro(0)) {
		t.Error("two instants have one checksum")
	}
}

func withoutFactor(people []*identity.Person) {
	for _, p := range people {
		p.TOTP = nil
	}
}
