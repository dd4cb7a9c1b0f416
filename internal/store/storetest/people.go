package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var peopleTests = group{
	"FirstIsOperator":       peopleFirst,
	"OnlyTheFirst":          peopleOnlyTheFirst,
	"OneOfManyIsFirst":      peopleRace,
	"Invites":               peopleInvites,
	"InvitesForOne":         peopleInviteRace,
	"Passwords":             peoplePasswords,
	"Operators":             peopleOperators,
	"Sessions":              peopleSessions,
	"PagesAndSizes":         peopleSizes,
	"Nodes":                 peopleNodes,
	"SessionsSlide":         peopleSessionsSlide,
	"SessionsPrune":         peopleSessionsPrune,
	"DeletedAtOnce":         peopleDeleted,
	"PurgedInBatches":       peoplePurged,
	"PurgedWhileUnderWay":   peoplePurgedUnderWay,
	"PurgedAlsoWhatFollows": peoplePurgedLate,
}

func (w *world) newcomer(email string) *identity.Account {
	return &identity.Account{
		Owner: job.Owner{ID: uuid.New()}, Email: email, CreatedAt: w.now,
		Secrets: []identity.Secret{{Value: "whsec_" + email, CreatedAt: w.now}},
	}
}

// removeAccounts deletes all accounts.
func (w *world) removeAccounts() {
	w.Helper()
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.other.Number, w.now))
}

func peopleFirst(w *world) {
	w.removeAccounts()
	public := w.newcomer("public")
	public.Origin = identity.OriginShared
	w.ok("AccountInsert", w.s.AccountInsert(w.ctx, public))
	early := w.newcomer("early@example.com")
	w.ok("AccountRegister", w.s.AccountRegister(w.ctx, &identity.Registration{Account: early, Uncounted: "public"}))
	if got, err := w.s.AccountGet(w.ctx, early.Email); err != nil || got.Operator {
		w.Errorf("one that may be any is %+v, %v", got, err)
	}
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, early.Number, w.now))
	first, second := w.newcomer("first@example.com"), w.newcomer("second@example.com")
	for _, a := range []*identity.Account{first, second} {
		w.ok("AccountRegister", w.s.AccountRegister(w.ctx,
			&identity.Registration{Account: a, Password: "hash of " + a.Email, Uncounted: "public", FirstOnly: a == first}))
		got, err := w.s.AccountGet(w.ctx, a.Email)
		w.ok("AccountGet", err)
		w.same("the account", showAccount(got), showAccount(a))
		if got.Operator != (a == first) || len(got.Secrets) != 1 {
			w.Errorf("%s: operator %v, %d secrets", a.Email, got.Operator, len(got.Secrets))
		}
		if p, err := w.s.PersonGet(w.ctx, a.Email); err != nil || p.Password != "hash of "+a.Email || p.Home != got.Owner {
			w.Errorf("the person is %+v, %v", p, err)
		}
	}
	again := w.newcomer("first@example.com")
	w.wantCode("a taken email", w.s.AccountRegister(w.ctx, &identity.Registration{Account: again}), fault.Invalid)
}

func peopleOnlyTheFirst(w *world) {
	late := &identity.Registration{Account: w.newcomer("late@example.com"), FirstOnly: true}
	w.wantCode("a second account", w.s.AccountRegister(w.ctx, late), fault.Forbidden)
	_, err := w.s.AccountGet(w.ctx, "late@example.com")
	w.wantCode("the refused account", err, fault.NotFound)
	w.removeAccounts()
	w.ok("AccountRegister", w.s.AccountRegister(w.ctx, late))
}

// together calls do n times concurrently and returns how often it succeeded.
func together(n int, do func(i int) error) (worked int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if do(i) == nil {
				mu.Lock()
				worked++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return worked
}

func peopleRace(w *world) {
	w.removeAccounts()
	worked := together(12, func(i int) error {
		return w.s.AccountRegister(w.ctx, &identity.Registration{Account: w.newcomer(fmt.Sprintf("%d@example.com", i)), FirstOnly: true})
	})
	if worked != 1 {
		w.Errorf("%d accounts were the first", worked)
	}
}

func (w *world) invite(code string, expires time.Time) []byte {
	w.Helper()
	i := &identity.Invite{Hash: []byte(code), CreatedAt: w.now, ExpiresAt: expires}
	w.ok("InviteInsert", w.s.InviteInsert(w.ctx, i))
	return i.Hash
}

func peopleInvites(w *world) {
	good, old := w.invite("good", w.ahead()), w.invite("old", w.past())
	register := func(email string, invite []byte) error {
		return w.s.AccountRegister(w.ctx, &identity.Registration{Account: w.newcomer(email), Invite: invite})
	}
	w.wantCode("no such invite", register("a@example.com", []byte("other")), fault.NotFound)
	w.wantCode("an empty invite", register("a@example.com", []byte{}), fault.NotFound)
	w.wantCode("an expired invite", register("a@example.com", old), fault.NotFound)
	w.wantCode("a taken email", register("owner@example.com", good), fault.Invalid)
	found, err := w.s.InviteFind(w.ctx, good, w.now)
	w.ok("InviteFind", err)
	if string(found.Hash) != "good" || !found.ExpiresAt.Equal(w.ahead()) || !found.CreatedAt.Equal(w.now) {
		w.Errorf("the invite reads %+v", found)
	}
	w.ok("AccountRegister", register("a@example.com", good))
	w.wantCode("a used invite", register("b@example.com", good), fault.NotFound)
	for _, hash := range [][]byte{good, old, nil} {
		_, err := w.s.InviteFind(w.ctx, hash, w.now)
		w.wantCode("InviteFind", err, fault.NotFound)
	}
}

func peopleInviteRace(w *world) {
	hash := w.invite("good", w.ahead())
	worked := together(12, func(i int) error {
		return w.s.AccountRegister(w.ctx, &identity.Registration{Account: w.newcomer(fmt.Sprintf("%d@example.com", i)), Invite: hash})
	})
	if worked != 1 {
		w.Errorf("%d accounts were made with one invite", worked)
	}
}

func (w *world) session(token string, owner job.Owner) *identity.Session {
	w.Helper()
	s := &identity.Session{Hash: []byte(token), Account: owner.Number, Person: owner.ID, CreatedAt: w.now, SeenAt: w.now,
		ExpiresAt: w.ahead()}
	w.ok("SessionInsert", w.s.SessionInsert(w.ctx, s))
	return s
}

func (w *world) wantNoSession(what string, s *identity.Session) {
	w.Helper()
	_, err := w.s.SessionFind(w.ctx, s.Hash, w.now)
	w.wantCode(what, err, fault.NotFound)
}

func (w *world) wantSession(s *identity.Session) {
	w.Helper()
	got, err := w.s.SessionFind(w.ctx, s.Hash, w.now)
	w.ok("SessionFind", err)
	w.same("the session", showSession(got), showSession(s))
}

func showSession(s *identity.Session) string {
	return fmt.Sprintf("%s of %d from %s, seen %s, until %s, at %q with %q, pending %v", s.Hash, s.Account, moment(s.CreatedAt),
		moment(s.SeenAt), moment(s.ExpiresAt),
		s.Address, s.Agent, s.Pending)
}

func peoplePasswords(w *world) {
	here, there, others := w.session("here", w.owner), w.session("there", w.owner), w.session("others", w.other)
	w.ok("PersonPassword", w.s.PersonPassword(w.ctx, identity.PasswordChange{Person: w.owner.ID, Password: "new hash", Keep: here.Hash}))
	p, err := w.s.PersonOf(w.ctx, w.owner.ID)
	if err != nil || p.Password != "new hash" {
		w.Errorf("the person is %+v, %v", p, err)
	}
	w.wantSession(here)
	w.wantSession(others)
	w.wantNoSession("another session", there)
	w.ok("PersonPassword", w.s.PersonPassword(w.ctx, identity.PasswordChange{Person: w.owner.ID, Password: "newer hash"}))
	w.wantNoSession("the session", here)
	w.wantSession(others)
	w.wantCode("nobody's password", w.s.PersonPassword(w.ctx, identity.PasswordChange{Person: uuid.New(), Password: "x"}), fault.NotFound)
}

func peopleOperators(w *world) {
	for _, operator := range []bool{true, false} {
		w.ok("AccountOperator", w.s.AccountOperator(w.ctx, w.owner.Number, operator))
		a, err := w.s.AccountOf(w.ctx, w.owner.Number)
		if err != nil || a.Operator != operator {
			w.Errorf("operator %v, %v; want %v", a.Operator, err, operator)
		}
	}
	w.wantCode("nobody", w.s.AccountOperator(w.ctx, 1<<40, true), fault.NotFound)
}

func peopleSizes(w *world) {
	w.clutter(w.owner)
	third := w.newcomer("third@example.com")
	w.ok("AccountInsert", w.s.AccountInsert(w.ctx, third))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.other.Number, w.now))
	var emails []string
	for after := int64(0); ; {
		page, err := w.s.AccountPage(w.ctx, after, 1)
		w.ok("AccountPage", err)
		if len(page) == 0 {
			break
		}
		after = page[0].Number
		emails = append(emails, page[0].Email)
	}
	w.same("the accounts", fmt.Sprint(emails), "[owner@example.com third@example.com]")
	for account, want := range map[int64]identity.RecordCounts{
		w.owner.Number: {Pending: 3, Final: 5, Schedules: 1, Logs: 4}, third.Number: {}, 1 << 40: {},
	} {
		got, err := w.s.AccountSize(w.ctx, account, 5)
		if err != nil || got != want {
			w.Errorf("account %d has %+v, %v; want %+v", account, got, err, want)
		}
	}
}

func peopleNodes(w *world) {
	nodes, err := w.s.NodeList(w.ctx)
	if err != nil || len(nodes) != 1 || nodes[0].Number != w.node {
		w.Errorf("the nodes are %+v, %v", nodes, err)
	}
}

func peopleSessions(w *world) {
	s := w.session("token", w.owner)
	w.wantSession(s)
	for _, hash := range [][]byte{nil, {}, []byte("toke"), []byte("other")} {
		_, err := w.s.SessionFind(w.ctx, hash, w.now)
		w.wantCode("another hash", err, fault.NotFound)
	}
	_, err := w.s.SessionFind(w.ctx, s.Hash, s.ExpiresAt)
	w.wantCode("an expired session", err, fault.NotFound)
	w.ok("SessionDelete", w.s.SessionDelete(w.ctx, []byte("other")))
	w.wantSession(s)
	w.ok("SessionDelete", w.s.SessionDelete(w.ctx, s.Hash))
	w.wantNoSession("the session", s)
	w.ok("SessionDelete again", w.s.SessionDelete(w.ctx, s.Hash))
	nobody := &identity.Session{Hash: []byte("x"), Account: 1 << 40, Person: w.owner.ID, CreatedAt: w.now, SeenAt: w.now,
		ExpiresAt: w.ahead()}
	w.wantCode("nobody's session", w.s.SessionInsert(w.ctx, nobody), fault.NotFound)
}

func peopleSessionsSlide(w *world) {
	s := w.session("token", w.owner)
	s.SeenAt, s.ExpiresAt = w.now.Add(time.Minute), w.ahead().Add(time.Minute)
	w.ok("SessionSeen", w.s.SessionSeen(w.ctx, s.Hash, s.SeenAt, s.ExpiresAt))
	w.wantSession(s)
	w.ok("SessionSeen of earlier", w.s.SessionSeen(w.ctx, s.Hash, w.now, w.ahead()))
	w.wantSession(s)
	w.ok("SessionSeen of nobody", w.s.SessionSeen(w.ctx, []byte("other"), w.now, w.ahead()))
}

func peopleSessionsPrune(w *world) {
	var kept []*identity.Session
	for i := range 10 {
		s := &identity.Session{Hash: []byte{byte(i)}, Account: w.owner.Number, Person: w.owner.ID, CreatedAt: w.now, SeenAt: w.now,
			ExpiresAt: w.ahead()}
		if i%2 == 0 {
			s.ExpiresAt = w.past()
		} else {
			kept = append(kept, s)
		}
		w.ok("SessionInsert", w.s.SessionInsert(w.ctx, s))
	}
	w.invite("old", w.past())
	w.invite("good", w.ahead())
	total := 0
	for range 10 {
		n, err := w.s.SessionPrune(w.ctx, w.now, 2)
		w.ok("SessionPrune", err)
		total += n
	}
	if total != 6 {
		w.Errorf("%d sessions and invites removed, want 5 and 1", total)
	}
	for _, s := range kept {
		got, err := w.s.SessionFind(w.ctx, s.Hash, w.now)
		if err != nil || got.Account != w.owner.Number {
			w.Errorf("a session that has not expired: %v", err)
		}
	}
}

func peopleDeleted(w *world) {
	s, k := w.session("token", w.owner), w.key("a")
	others := w.session("others", w.other)
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.wantNoSession("a session of a deleted account", s)
	w.wantSession(others)
	_, err := w.s.KeyFind(w.ctx, k.Hash)
	w.wantCode("a key of a deleted account", err, fault.NotFound)
	_, err = w.s.AccountGet(w.ctx, "owner@example.com")
	w.wantCode("the account by email", err, fault.NotFound)
	left, err := w.s.AccountOf(w.ctx, w.owner.Number)
	w.ok("AccountOf", err)
	if !left.DeletedAt.Equal(w.now) || left.Operator || len(left.Secrets) != 0 || left.ID != w.owner.ID ||
		left.Email == "owner@example.com" {
		w.Errorf("what is left: %+v", left)
	}
	w.wantCode("deleting it again", w.s.AccountDelete(w.ctx, w.owner.Number, w.now), fault.NotFound)
	w.wantCode("a session for it", w.s.SessionInsert(w.ctx, s), fault.NotFound)
	w.wantCode("a password for it", w.s.PersonPassword(w.ctx, identity.PasswordChange{Person: w.owner.ID, Password: "x"}), fault.NotFound)
	w.wantCode("an operator of it", w.s.AccountOperator(w.ctx, w.owner.Number, true), fault.NotFound)
	again := w.newcomer("owner@example.com")
	w.ok("the email once more", w.s.AccountRegister(w.ctx, &identity.Registration{Account: again}))
	if again.Number == w.owner.Number || again.Operator {
		w.Errorf("the new account has number %d, operator %v", again.Number, again.Operator)
	}
}

// purge deletes the records of deleted accounts and returns how many there were.
func (w *world) purge(settled time.Time, limit int) (total int) {
	w.Helper()
	for {
		n, err := w.s.AccountPurge(w.ctx, settled, limit)
		w.ok("AccountPurge", err)
		if n > limit {
			w.Fatalf("AccountPurge removed %d, more than %d", n, limit)
		}
		if total += n; n == 0 {
			return total
		}
	}
}

// clutter stores 12 jobs, a schedule, 3 deliveries, 4 logs and statistics for an
// account.
func (w *world) clutter(owner job.Owner) {
	w.Helper()
	for range 9 {
		w.endedAt(w.oneOff(owner, w.past()), job.Completed, w.past())
	}
	j := w.insertOne(w.oneOff(owner, w.past()))
	w.sendEvents(j, "one", "two")
	w.send(j, w.callback(j, 1, w.past()))
	w.change(j, func(*store.Snapshot) *store.Changes {
		return &store.Changes{Logs: []job.Log{w.log(j, job.EventError, w.past()), w.log(j, job.EventError, w.past()),
			w.log(j, job.EventError, w.past())}}
	})
	w.begin(w.insertOne(w.oneOff(owner, w.past())))
	w.insertOne(w.recurring(owner, w.ahead()))
	w.ok("StatsWrite", w.s.StatsWrite(w.ctx, []store.Stat{{Account: owner.Number, Minute: 1, Source: 1},
		{Account: owner.Number, Minute: 2, Source: 1}}))
}

// remains returns how many records an account has.
func (w *world) remains(owner job.Owner) string {
	w.Helper()
	stats, err := w.s.StatsRead(w.ctx, owner.Number, 0, 10)
	w.ok("StatsRead", err)
	runs := 0
	for _, ref := range w.peek() {
		if ref.Account == owner.Number {
			runs++
		}
	}
	return fmt.Sprintf("%d jobs, %d schedules, %d logs, %d stats, %d runs unclaimed", len(w.listJobs(owner, job.Query{ListQuery: top})),
		len(w.listSchedules(owner, top)), len(w.listLogs(owner, job.LogQuery{ListQuery: top})), len(stats), runs)
}

func peoplePurged(w *world) {
	w.clutter(w.owner)
	w.clutter(w.other)
	full := "12 jobs, 1 schedules, 4 logs, 2 stats, 4 runs unclaimed"
	w.same("an account before", w.remains(w.owner), full)
	if n := w.purge(w.ahead(), 5); n != 0 {
		w.Errorf("%d records of accounts that exist are gone", n)
	}
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	if n := w.purge(w.past(), 5); n != 12+1+4+2 {
		w.Errorf("%d records removed", n)
	}
	w.same("the deleted account", w.remains(w.owner), "0 jobs, 0 schedules, 0 logs, 0 stats, 0 runs unclaimed")
	w.same("another", w.remains(w.other), full)
	claimed, err := w.s.QueueHeld(w.ctx, w.node, nil)
	if err != nil || len(claimed) != 0 {
		w.Errorf("%v, %v", claimed, err)
	}
}

// peoplePurgedUnderWay: an attempt that ends after its job is gone stores nothing.
func peoplePurgedUnderWay(w *world) {
	first := w.insertOne(w.recurring(w.owner, w.past()))
	c := w.begin(first)
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.purge(w.past(), 5)
	held, err := w.s.QueueFinish(w.ctx, []store.Finish{w.end(first, c, w.completes)})
	if err != nil || held[0] {
		w.Errorf("the attempt was held %v, %v", held, err)
	}
	w.same("the account", w.remains(w.owner), "0 jobs, 0 schedules, 0 logs, 0 stats, 0 runs unclaimed")
}

// peoplePurgedLate: records stored while an account is being deleted are purged,
// too, until the account has settled.
func peoplePurgedLate(w *world) {
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.purge(w.past(), 5)
	w.insertOne(w.oneOff(w.owner, w.past()))
	w.key("late")
	if n := w.purge(w.past(), 5); n != 1 {
		w.Errorf("%d records removed, want the late job", n)
	}
	if keys, err := w.s.KeyList(w.ctx, w.owner.Number); err != nil || len(keys) != 0 {
		w.Errorf("%d keys are left, %v", len(keys), err)
	}
	w.purge(w.ahead(), 5)
	w.insertOne(w.oneOff(w.owner, w.past()))
	if n := w.purge(w.ahead(), 5); n != 0 {
		w.Errorf("an account that has settled was looked at again")
	}
}
