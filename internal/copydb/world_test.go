package copydb

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/postgres"
	"github.com/punctual-dev/punctual/internal/store/sqlite"
	"github.com/punctual-dev/punctual/test/pgtest"
	"github.com/punctual-dev/punctual/test/sqlitefile"
)

// migrated is the SQLite database that those of tests are copies of.
var migrated sqlitefile.Template

// openSQLite opens a database in a new file.
func openSQLite(t testing.TB) store.Copyable {
	t.Helper()
	path := filepath.Join(t.TempDir(), "punctual.db")
	err := migrated.Copy(path, func(path string) error {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			return err
		}
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	return closed(t, s)
}

// openPostgres opens a new database on the test server.
func openPostgres(t testing.TB) store.Copyable {
	t.Helper()
	url := pgtest.URLFrom(t, "migrated", func(url string) error {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			return err
		}
		return s.Close()
	})
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return closed(t, s)
}

// closed closes a store when the test ends.
func closed(t testing.TB, s store.Copyable) store.Copyable {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing a store: %v", err)
		}
	})
	return s
}

// pairs are the combinations of stores to copy between.
var pairs = map[string]struct {
	from, to func(testing.TB) store.Copyable
}{
	"SQLite to SQLite":         {openSQLite, openSQLite},
	"SQLite to PostgreSQL":     {openSQLite, openPostgres},
	"PostgreSQL to SQLite":     {openPostgres, openSQLite},
	"PostgreSQL to PostgreSQL": {openPostgres, openPostgres},
}

// betweenAll runs a test for every pair of stores, with a full source.
func betweenAll(t *testing.T, test func(t *testing.T, from, to store.Copyable)) {
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := pair.from(t)
			newFiller(t, from).fill()
			test(t, from, pair.to(t))
		})
	}
}

// copyAll copies a store and fails the test on an error. If the machine is so busy that a
// store is taken for silent, it goes on as the error says.
func copyAll(t *testing.T, from, to store.Copyable) *Result {
	t.Helper()
	result, err := Copy(t.Context(), from, to, func(Progress) {})
	for range 5 {
		if err == nil || fault.CodeOf(err) != fault.Unavailable {
			break
		}
		t.Logf("going on: %v", err)
		result, err = Copy(t.Context(), from, to, func(Progress) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// filler stores records of every kind.
type filler struct {
	testing.TB
	ctx  context.Context
	s    store.Copyable
	node int64
	now  time.Time
}

func newFiller(t testing.TB, s store.Copyable) *filler {
	t.Helper()
	f := &filler{TB: t, ctx: t.Context(), s: s, now: s.Now()}
	var err error
	f.node, err = s.NodeStart(f.ctx)
	f.ok(err)
	return f
}

func (f *filler) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *filler) fill() {
	f.Helper()
	for _, email := range []string{"ann@example.com", "bob@example.com"} {
		owner := f.account(email)
		f.keys(owner)
		f.secrets(owner)
		f.alerts(owner)
		f.limits(owner)
		f.groups(owner)
		f.recipients(owner)
		f.jobs(owner)
		f.schedules(owner)
		f.mutes(owner)
		f.deliveries(owner)
		f.audits(owner.Number)
	}
	f.audits(0)
	f.gone()
	f.ok(f.s.NodeStop(f.ctx, f.node))
}

func (f *filler) account(email string) job.Owner {
	f.Helper()
	a := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: email, CreatedAt: f.now, Operator: email < "b",
		Secrets: []identity.Secret{
			{Value: "whsec_current", CreatedAt: f.now},
			{Value: "whsec_before", CreatedAt: f.now.Add(-time.Hour), ExpiresAt: f.now.Add(24 * time.Hour)},
			{Value: "whsec_expired", CreatedAt: f.now.Add(-48 * time.Hour), ExpiresAt: f.now.Add(-time.Hour)},
		}}
	f.ok(f.s.AccountInsert(f.ctx, a))
	for i, k := range []identity.SigningKey{
		{Account: a.Number, Number: f.now.UnixMicro(), EndsAt: f.now.Add(time.Hour)}, {Account: identity.IssuerAccount, Number: a.Number},
	} {
		k.Private, k.CreatedAt, k.SignsAt = fmt.Sprint("private ", i, " of ", email), f.now.Truncate(time.Microsecond),
			f.now.Add(time.Minute).Truncate(time.Microsecond)
		_, err := f.s.SigningKeyAdd(f.ctx, &k, time.Time{})
		f.ok(err)
	}
	f.ok(f.s.PersonPassword(f.ctx, identity.PasswordChange{Person: a.ID, Password: "hash of " + email}))
	f.members(a)
	f.ok(f.s.PersonTOTP(f.ctx, a.ID, func(*identity.TOTP) (*identity.TOTP, error) {
		return &identity.TOTP{
			Secret: []byte("secret of " + email), CreatedAt: f.now, ConfirmedAt: f.now.Add(time.Second), LastStep: 1 << 40,
			Recovery: [][]byte{bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)},
		}, nil
	}))
	most, rate := int64(1000), 2.5
	f.ok(f.s.AccountLimit(f.ctx, a.Number, identity.Overrides{Pending: &most, Stored: new(int64), Rate: &rate}))
	if !a.Operator {
		f.ok(f.s.AccountSuspend(f.ctx, a.Number, f.now, "spam ☃"))
	}
	return a.Owner
}

// members stores an invitation and a person who belongs to all accounts.
func (f *filler) members(a *identity.Account) {
	f.Helper()
	for _, email := range []string{"guest@example.com", "zoe@example.com"} {
		m := &identity.Member{
			ID: uuid.New(), Account: a.Number, Email: email, Role: identity.RoleEditor, CreatedAt: f.now,
			Hash: []byte(email + " of " + a.Email), ExpiresAt: f.now.Add(time.Hour),
		}
		f.ok(f.s.MemberChange(f.ctx, a.Number, uuid.Nil, email, func(*identity.MemberState) (*identity.Member, error) { return m, nil }))
		if email == "zoe@example.com" {
			continue
		}
		p, err := f.s.PersonGet(f.ctx, email)
		if err != nil {
			p = &identity.Person{ID: uuid.New(), Email: email, CreatedAt: f.now, Password: "hash"}
		}
		_, err = f.s.MemberAccept(f.ctx, &identity.Acceptance{Hash: m.Hash, Person: p, New: err != nil, At: f.now})
		f.ok(err)
	}
}

// audits stores five entries, one of which counts three repetitions.
func (f *filler) audits(account int64) {
	f.Helper()
	for i, slot := range []string{"", "a", "", "b", "a", "", "a"} {
		at := f.now.Add(time.Duration(i) * time.Second)
		f.ok(f.s.AuditInsert(f.ctx, &identity.AuditEntry{
			ID: job.NewID(at), Account: account, InsertedAt: at, LastAt: at, Event: "key.created", ActorKind: "key", ActorName: "sk_abc",
			Address: "192.0.2.1", Detail: "☃ of " + slot, Count: 1, Slot: slot,
		}))
	}
}

// secrets stores two header secrets.
func (f *filler) secrets(owner job.Owner) {
	f.Helper()
	for _, name := range []string{"one", "two"} {
		_, err := f.s.SecretPut(f.ctx, &identity.HeaderSecret{
			Account: owner.Number, Name: name, Hosts: []string{"a.example", "::1"}, HTTP: name == "two", Value: "enc1:" + name,
			CreatedAt: f.now, UpdatedAt: f.now.Add(time.Second),
		}, store.PutAlways)
		f.ok(err)
	}
}

// alerts stores two alerts.
func (f *filler) alerts(owner job.Owner) {
	f.Helper()
	for _, name := range []string{"one", "Two"} {
		_, err := f.s.AlertPut(f.ctx, &store.Alert{
			Owner: owner, Name: name, Definition: rawjson.Value(`{"on":["late"]}`), Match: rawjson.Value(`{"tags":["☃"]}`),
			LateBy: time.Minute,
		}, store.PutAlways)
		f.ok(err)
	}
}

func (f *filler) limits(owner job.Owner) {
	f.Helper()
	for i, key := range []string{"a", "b", "host:example.com"} {
		_, err := f.s.LimitPut(f.ctx, owner, store.Limit{Key: key,
			Limit: limit.Limit{Calls: i, Per: time.Minute, Parallel: 2, Ordered: i == 2, Paused: i == 1}}, store.PutAlways)
		f.ok(err)
	}
}

// recipients stores one that was asked, one that has confirmed and one that has refused.
func (f *filler) recipients(owner job.Owner) {
	f.Helper()
	for i, address := range []string{"a/b%2Fc+x@example.com", "ann@example.com", "zoë@example.com"} {
		r := &store.Recipient{Token: fmt.Appendf(nil, "token %d of %s", i, owner.ID), AskedAt: f.now.Truncate(time.Microsecond)}
		switch i {
		case 1:
			r.ConfirmedAt = r.AskedAt.Add(time.Second)
		case 2:
			r.RefusedAt = r.AskedAt.Add(time.Minute)
		}
		f.ok(f.s.RecipientChange(f.ctx, owner.Number, address, address, f.now, func(*store.RecipientSnapshot) *store.RecipientChange {
			return &store.RecipientChange{Recipient: r}
		}))
	}
}

func (f *filler) keys(owner job.Owner) {
	f.Helper()
	var ids []uuid.UUID
	for i := range 3 {
		k := &identity.Key{
			ID: job.NewID(f.now), Account: owner.Number, Name: fmt.Sprintf("key %d ☃", i), Prefix: "sk_abc",
			Hash: fmt.Appendf(nil, "hash of key %d of %s", i, owner.ID), CreatedAt: f.now,
			Scope: []identity.Scope{identity.ScopeRead, identity.ScopeJobs, identity.ScopeAdmin}[i],
		}
		if i == 0 {
			k.ExpiresAt, k.CIDRs = f.now.Add(time.Hour), []string{"192.0.2.0/24", "2001:db8::/32"}
		}
		f.ok(f.s.KeyInsert(f.ctx, k))
		ids = append(ids, k.ID)
	}
	f.ok(f.s.KeyRevoke(f.ctx, ids[1], f.now.Add(time.Minute)))
	f.ok(f.s.KeyUsed(f.ctx, map[uuid.UUID]time.Time{ids[2]: f.now.Add(time.Second)}))
}

// args has values that stores may get wrong: an escaped NUL, code points beyond
// the first plane, a number that no float can represent, unsorted keys.
const args = `{"url":"https://example.com/hook","body":{"z":"\u0000☃𝄞\"","a":12345678901234567890.10,"b":null},"method":"post","headers":{}}`

func ptr[T any](v T) *T { return &v }

func (f *filler) newJob(owner job.Owner, due time.Time) store.NewJob {
	return store.NewJob{Lane: job.Lane("https://example.com/hook"), Job: &job.Job{
		ID: job.NewID(f.now), Owner: owner, InsertedAt: f.now, ScheduledAt: due, DueAt: due, State: job.Available, Hops: 2,
		Trace: []byte("25 bytes that name a span"), Args: rawjson.Value(args),
	}}
}

func (f *filler) insert(n store.NewJob) *job.Job {
	f.Helper()
	stored, err := f.s.JobInsertMany(f.ctx, []store.NewJob{n})
	f.ok(err)
	return stored[0].Job
}

// jobs stores jobs in every state, and enough available ones for several pages.
func (f *filler) jobs(owner job.Owner) {
	f.Helper()
	full := f.newJob(owner, f.now.Add(time.Hour))
	full.Job.Trace, full.Job.KeyRequest = nil, []byte("\x00 and 14 \xff more")
	full.Job.Key, full.Job.Name, full.Job.Description = ptr("a key ☃"), ptr("a name 𝄞"), ptr("")
	full.Request = &store.NewRequest{ID: job.RequestKey("a request ☃"), Digest: []byte("\x00 and 14 \xff more"),
		Until: f.now.Add(time.Hour)}
	f.insert(full)
	f.attempt(f.insert(f.newJob(owner, f.now)), func(j *job.Job) { j.Complete(f.now.Add(time.Second)) })
	f.attempt(f.insert(f.newJob(owner, f.now)), func(j *job.Job) { j.Discard(f.now.Add(time.Second)) })
	f.attempt(f.insert(f.newJob(owner, f.now)), func(j *job.Job) { j.Retry(f.now.Add(time.Minute)) })
	ancient := f.newJob(owner, f.now.Add(time.Hour))
	ancient.Job.ScheduledAt = time.Time{} // the first instant of year 1, which clients may ask for
	f.cancel(f.insert(ancient))
	pending, ended := f.insert(f.newJob(owner, f.now.Add(time.Hour))), f.insert(f.newJob(owner, f.now.Add(time.Hour)))
	waits := f.newJob(owner, job.WaitingDue)
	waits.Await = &store.Await{Jobs: []job.AwaitedJob{{Number: pending.Number}, {Number: ended.Number}}}
	f.insert(waits)
	f.cancel(ended)
	var many []store.NewJob
	for i := range 300 {
		n := f.newJob(owner, f.now.Add(time.Duration(i%7)*time.Minute))
		n.Job.ScheduledAt = n.Job.ScheduledAt.Add(-time.Hour)
		many = append(many, n)
	}
	_, err := f.s.JobInsertMany(f.ctx, many)
	f.ok(err)
}

func (f *filler) cancel(j *job.Job) {
	f.Helper()
	_, err := f.s.JobChange(f.ctx, j.Owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		m.Job.Cancel(m.Now)
		return &store.Changes{Job: m.Job}
	})
	f.ok(err)
}

func refOf(j *job.Job) store.QueueKey {
	return store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: j.Number}, Due: j.DueAt, Account: j.Owner.Number, Lane: 1,
		Revision: 1}
}

// attempt runs an attempt of a job with a given outcome and logs of every event.
func (f *filler) attempt(j *job.Job, end func(*job.Job), deliveries ...job.Delivery) {
	f.Helper()
	f.claim(j, deliveries...)
	ok, err := f.s.QueueFinish(f.ctx, []store.Finish{{
		QueueKey: refOf(j), Node: f.node, Attempt: 1, Job: j,
		Decide: func(m *store.Snapshot) *store.Changes {
			ended := *m.Job
			ended.Begin(f.now)
			end(&ended)
			c := &store.Changes{Job: &ended}
			for _, event := range []string{job.EventResponse, job.EventError, job.EventCallbackFailed, job.EventWebhookFailed,
				job.EventStateRejected} {
				c.Logs = append(c.Logs, f.log(j, event))
			}
			return c
		},
	}})
	f.ok(err)
	if !ok[0] {
		f.Fatalf("job %d could not be finished", j.Number)
	}
}

func (f *filler) claim(j *job.Job, deliveries ...job.Delivery) {
	f.Helper()
	log := f.log(j, job.EventRequest)
	ok, err := f.s.QueueClaim(f.ctx, f.node, []store.Claim{{QueueKey: refOf(j), Attempt: 1, StartAt: f.now, Log: &log,
		Deliveries: deliveries}})
	f.ok(err)
	if !ok[0] {
		f.Fatalf("job %d could not be claimed", j.Number)
	}
}

func (f *filler) log(j *job.Job, event string) job.Log {
	return job.Log{ID: job.NewID(f.now), Owner: j.Owner, Job: j.Number, Event: event, InsertedAt: f.now, Payload: rawjson.Value(args)}
}

// groups stores more groups than are read at once, one of which was changed.
func (f *filler) groups(owner job.Owner) {
	f.Helper()
	for i := range groupPage + 2 {
		_, err := f.s.GroupPut(f.ctx, &job.Group{Account: owner.Number, Name: fmt.Sprint("g", i%(groupPage+1)),
			Targets: rawjson.Value(fmt.Sprintf(`[{"name":"☃","url":"https://example.com/%d"}]`, i))}, nil)
		f.ok(err)
	}
}

// mutes mutes all of the owner's schedules, and counts months of them.
func (f *filler) mutes(owner job.Owner) {
	f.Helper()
	schedules, err := f.s.ScheduleList(f.ctx, owner, job.ScheduleQuery{ListQuery: job.ListQuery{Limit: 100}})
	f.ok(err)
	for i, one := range schedules {
		m := &job.Mute{Account: owner.Number, Schedule: one.ID, Note: new(fmt.Sprint("note ", i))}
		if i == 0 {
			m.Until = f.s.Now().Add(time.Hour)
		}
		f.ok(f.s.MutePut(f.ctx, m, !one.FailingSince.IsZero(), nil))
		key := store.ScheduleKey{Account: owner.Number, Schedule: one.ID}
		f.ok(f.s.MonthsCopy(f.ctx, []*store.ScheduleMonth{
			{ScheduleKey: key, Month: 24310, Through: int64(i), Counts: []byte("a")}, {ScheduleKey: key, Month: 24311, Counts: []byte("b")}}))
	}
}

// schedules stores an enabled schedule with state, one whose last response was
// null, and a disabled one.
func (f *filler) schedules(owner job.Owner) {
	f.Helper()
	live := f.schedule(owner, ptr("a schedule's key"))
	f.changeSchedule(live, func(s *job.Schedule) {
		s.State, s.Previous, s.Epoch = rawjson.Value(`{"n":1,"s":"\u0000"}`), rawjson.Value(`[1.10]`), 3
	})
	f.changeSchedule(f.schedule(owner, nil), func(s *job.Schedule) {
		s.Previous, s.Failures, s.FailingSince, s.Failure = rawjson.Value(`null`), 3, f.now, "500"
	})
	f.changeSchedule(f.schedule(owner, nil), func(s *job.Schedule) { s.DisabledAt, s.Epoch = f.now, 1 })
}

func (f *filler) schedule(owner job.Owner, key *string) *job.Schedule {
	f.Helper()
	n := f.newJob(owner, f.now.Add(time.Minute))
	n.Schedule = &job.Schedule{
		ID: job.NewID(f.now), Owner: owner, Key: key, Name: ptr("hourly"), InsertedAt: f.now, FirstDue: f.now.Add(time.Minute), Hops: 1,
		Args: n.Job.Args,
	}
	n.Job.ScheduleID, n.Job.Key = n.Schedule.ID, key
	f.insert(n)
	return n.Schedule
}

func (f *filler) changeSchedule(s *job.Schedule, change func(*job.Schedule)) {
	f.Helper()
	_, err := f.s.ScheduleChange(f.ctx, s.Owner, s.ID, func(m *store.Snapshot) *store.Changes {
		change(m.Schedule)
		return &store.Changes{Schedule: m.Schedule}
	})
	f.ok(err)
}

func (f *filler) delivery(j *job.Job, channel job.Channel, event string) job.Delivery {
	return job.Delivery{
		MessageID: "msg_" + uuid.NewString(), Owner: j.Owner, Job: j.Number, JobAttempt: 1, Channel: channel,
		URL: "https://hooks.example.com/" + event, Event: event, DueAt: f.now.Add(time.Minute), Body: rawjson.Value(args),
		Parts: []job.Part{{At: 1, Log: uuid.New(), From: 1, To: 9}},
	}
}

// deliveries stores events, the later of which wait, a callback, and a callback
// after one attempt.
func (f *filler) deliveries(owner job.Owner) {
	f.Helper()
	j := f.insert(f.newJob(owner, f.now))
	f.attempt(j, func(j *job.Job) { j.Complete(f.now.Add(time.Second)) },
		f.delivery(j, job.Webhook, "job.started"), f.delivery(j, job.Webhook, "job.request"), f.delivery(j, job.Webhook, "job.response"),
		f.delivery(j, job.Callback, ""))
	tried := f.insert(f.newJob(owner, f.now))
	f.attempt(tried, func(j *job.Job) { j.Complete(f.now.Add(time.Second)) }, f.delivery(tried, job.Callback, ""))
	page, err := f.s.DeliveryPage(f.ctx, 0, 100)
	f.ok(err)
	d := page[len(page)-1]
	ref := store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery, Number: d.Number}, Due: d.DueAt, Account: owner.Number,
		Lane: job.Lane(d.URL)}
	_, err = f.s.QueueClaim(f.ctx, f.node, []store.Claim{{QueueKey: ref, Attempt: 1, StartAt: f.now}})
	f.ok(err)
	held, err := f.s.QueueFinish(f.ctx, []store.Finish{{QueueKey: ref, Node: f.node, Attempt: 1,
		Delivery: &store.DeliveryEnd{Again: f.now.Add(time.Hour), Attempt: 1}}})
	f.ok(err)
	if !held[0] {
		f.Fatal("a delivery could not be finished")
	}
}

// gone deletes the job with the highest number.
func (f *filler) gone() {
	f.Helper()
	accounts, err := f.s.AccountList(f.ctx)
	f.ok(err)
	j := f.insert(f.newJob(accounts[0].Owner, f.now))
	f.attempt(j, func(j *job.Job) { j.Complete(f.now.Add(-time.Hour)) })
	n, err := f.s.JobPrune(f.ctx, f.now.Add(-time.Minute), store.PruneCursor{}, 10)
	f.ok(err)
	if n.Removed != 1 {
		f.Fatalf("%d jobs were removed, want 1", n.Removed)
	}
}

// dump formats all records of a store.
func dump(t testing.TB, s store.Copyable) string {
	t.Helper()
	var b strings.Builder
	show := func(what string, fields ...any) {
		b.WriteString(what)
		for _, f := range fields {
			switch f := f.(type) {
			case *string:
				if f == nil {
					b.WriteString(" nil")
				} else {
					fmt.Fprintf(&b, " %q", *f)
				}
			case rawjson.Value:
				fmt.Fprintf(&b, " %t:%s", f == nil, string(f))
			case time.Time:
				fmt.Fprintf(&b, " %d", f.UnixMicro())
			default:
				fmt.Fprintf(&b, " %v", f)
			}
		}
		b.WriteString("\n")
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	accounts, err := s.AccountList(t.Context())
	ok(err)
	all := job.ListQuery{Limit: 100_000}
	issuer, err := s.SigningKeys(t.Context(), identity.IssuerAccount)
	ok(err)
	for _, k := range issuer {
		show("issuer's key", k.Number, k.Private, k.CreatedAt, k.SignsAt, k.EndsAt)
	}
	for _, a := range accounts {
		show("account", a.Number, a.ID, a.Email, a.CreatedAt, a.Operator, a.DeletedAt)
		showMembers(t, s, a, show)
		for _, secret := range a.Secrets {
			show("secret", secret.Value, secret.CreatedAt, secret.ExpiresAt)
		}
		keys, err := s.KeyList(t.Context(), a.Number)
		ok(err)
		for _, k := range keys {
			show("key", k.ID, k.Account, k.Name, k.Prefix, string(k.Hash), k.CreatedAt, k.LastUsedAt, k.RevokedAt)
		}
		secrets, err := s.SecretList(t.Context(), a.Number)
		ok(err)
		for _, h := range secrets {
			show("header secret", h.Account, h.Name, h.Hosts, h.HTTP, h.Value, h.CreatedAt, h.UpdatedAt)
		}
		signing, err := s.SigningKeys(t.Context(), a.Number)
		ok(err)
		for _, k := range signing {
			show("signing key", k.Account, k.Number, k.Private, k.CreatedAt, k.SignsAt, k.EndsAt)
		}
		groups, err := s.GroupList(t.Context(), a.Number, "", job.MaxGroups)
		ok(err)
		for _, g := range groups {
			show("group", g.Account, g.Name, g.Targets, g.InsertedAt, g.UpdatedAt)
		}
		limits, err := s.LimitList(t.Context(), a.Owner, "", limit.MaxPerAccount)
		ok(err)
		for _, l := range limits {
			show("limit", a.Number, l.Key, l.Calls, l.Per, l.Parallel, l.Ordered, l.Paused)
		}
		schedules, err := s.ScheduleList(t.Context(), a.Owner, job.ScheduleQuery{ListQuery: all})
		ok(err)
		for _, s := range schedules {
			show("schedule", s.ID, s.Owner, s.Key, s.Name, s.Description, s.InsertedAt, s.DisabledAt, s.FirstDue, s.Epoch, s.Args, s.State,
				s.Previous, s.Failures, s.FailingSince, s.Failure)
		}
		mutes, err := s.MuteList(t.Context(), a.Number, nil)
		ok(err)
		for _, m := range mutes {
			show("mute", m.Account, m.Schedule, m.Until, m.FailingSince, *m.Note, m.MutedAt)
		}
		months, err := s.MonthsPage(t.Context(), a.Number, uuid.UUID{}, 0, 1000)
		ok(err)
		for _, m := range months {
			show("month", m.Account, m.Schedule, m.Month, m.Through, m.Counts)
		}
		jobs, err := s.JobList(t.Context(), a.Owner, job.Query{ListQuery: all})
		ok(err)
		for _, j := range jobs {
			show("job", j.Number, j.ID, j.Owner, j.ScheduleID, j.Key, j.Name, j.Description, j.InsertedAt, j.ScheduledAt, j.State, j.DueAt,
				j.AttemptedAt, j.CompletedAt, j.CancelledAt, j.DiscardedAt, j.KeyRequest, j.Args)
		}
		logs, err := s.LogList(t.Context(), a.Owner, job.LogQuery{ListQuery: all})
		ok(err)
		for _, l := range logs {
			show("log", l.ID, l.Owner, l.Job, l.Event, l.InsertedAt, l.Payload)
		}
	}
	deliveries, err := s.DeliveryPage(t.Context(), 0, 100_000)
	ok(err)
	for _, d := range deliveries {
		show("delivery", d.Number, d.MessageID, d.Owner, d.Job, d.JobAttempt, d.Channel, d.URL, d.Event, d.Attempt, d.DueAt, d.Body,
			d.Waits)
	}
	refs, err := s.QueuePeek(t.Context(), store.QueueKey{}, time.Time{}, 100_000)
	ok(err)
	runs, err := s.QueueLoad(t.Context(), refs)
	ok(err)
	for i, r := range refs {
		show("run", r.Kind, r.Number, r.Due, r.Account, runs[i].Attempt, runs[i].Schedule != nil, runs[i].Claim == nil)
	}
	return b.String()
}

// wantSame verifies that two stores have the same records.
func wantSame(t *testing.T, from, to store.Copyable) {
	t.Helper()
	want, got := strings.Split(dump(t, from), "\n"), strings.Split(dump(t, to), "\n")
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("the stores differ in line %d:\nsource: %s\ncopy:   %s", i+1, line(want, i), line(got, i))
		}
	}
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

func showMembers(t testing.TB, s store.Store, a *identity.Account, show func(what string, fields ...any)) {
	t.Helper()
	members, err := s.MemberList(t.Context(), a.Number)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		show("member", m.ID, m.Account, m.Person, m.Email, string(m.Role), m.CreatedAt, string(m.Hash), m.ExpiresAt)
		if m.Invited() {
			continue
		}
		p, err := s.PersonOf(t.Context(), m.Person)
		if err != nil {
			t.Fatal(err)
		}
		show("person", p.ID, p.Email, p.CreatedAt, p.Password, p.Home.Number, p.TOTP != nil && string(p.TOTP.Secret) != "")
	}
}
