package auth

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/sqlitetest"
)

// town is People with a store and a clock that tests move.
type town struct {
	*testing.T
	*People
	s   store.Store
	mu  sync.Mutex
	now time.Time
}

const (
	password = "correct horse battery"
	home     = "192.0.2.1"
)

func newTown(t *testing.T, signup Signup) *town {
	t.Helper()
	t.Parallel()
	town := &town{T: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s := sqlitetest.Open(t, town.clock)
	town.s = s
	town.People = NewPeople(PeopleConfig{Store: s, Now: s.Now, Signup: signup, Pace: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	return town
}

func (w *town) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *town) pass(d time.Duration) {
	w.mu.Lock()
	w.now = w.now.Add(d)
	w.mu.Unlock()
}

// wantCode fails the test unless err is a fault of that code; 0 (Internal) is for none at all.
func (w *town) wantCode(what string, err error, code fault.Code) {
	w.Helper()
	if code == 0 && err != nil || code != 0 && (err == nil || fault.CodeOf(err) != code) {
		w.Errorf("%s: %v, want code %d", what, err, code)
	}
}

func (w *town) signUp(email string) (string, error) {
	code, err := w.SetupCode(w.Context())
	if err != nil {
		return "", err
	}
	return w.SignUp(w.Context(), SignUp{Email: email, Password: password, Setup: code, Address: home})
}

// signIn signs in without a second factor.
func (w *town) signIn(email, password, address string) (string, error) {
	in, err := w.SignIn(w.Context(), email, password, Client{Address: address, Agent: "Browser/1"})
	if in.NeedsCode {
		w.Errorf("%s is asked for a code", email)
	}
	return in.Token, err
}

// citizen signs up as the first and returns the account and its session.
func (w *town) citizen(email string) (*Visit, *identity.Session, string) {
	w.Helper()
	token, err := w.signUp(email)
	w.wantCode("signing up", err, 0)
	v, err := w.Session(w.Context(), token)
	if err != nil {
		w.Fatal(err)
	}
	return v, v.Session, token
}

func TestSignUp_FirstPersonBecomesTheOperator(t *testing.T) {
	w := newTown(t, SignupFirst)
	if door, err := w.SignupPolicy(t.Context()); err != nil || door != (SignupPolicy{SignupOpen, true}) {
		t.Errorf("the sign-up policy is %+v, %v", door, err)
	}
	a, s, token := w.citizen(" Ann@Example.com ")
	if a.Person.Email != "ann@example.com" || !a.Account.Operator || len(a.Account.Secrets) != 1 {
		t.Errorf("the account is %+v", a)
	}
	if strings.Contains(string(s.Hash), token) || len(token) != 43 || !s.ExpiresAt.Equal(w.now.Add(14*24*time.Hour)) {
		t.Errorf("the session is %+v for %q", s, token)
	}
	if !strings.HasPrefix(a.Person.Password, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("the password is kept as %q", a.Person.Password)
	}
	if door, err := w.SignupPolicy(t.Context()); err != nil || door != (SignupPolicy{SignupClosed, false}) {
		t.Errorf("then the sign-up policy is %+v, %v", door, err)
	}
	_, err := w.signUp("bob@example.com")
	w.wantCode("a second", err, fault.Forbidden)
}

func TestSignUp_PublicAccountDoesNotCountAsThePerson(t *testing.T) {
	w := newTown(t, SignupFirst)
	if _, err := PublicAccount(t.Context(), w.s, w.Now()); err != nil {
		t.Fatal(err)
	}
	a, _, _ := w.citizen("ann@example.com")
	if !a.Account.Operator {
		t.Error("the first person is no operator")
	}
	_, err := w.signIn(PublicEmail, "", home)
	w.wantCode("signing in as the public", err, fault.Unauthorized)
}

func TestSignUp_OpenDoesNotRevealOtherAccounts(t *testing.T) {
	w := newTown(t, SignupOpen)
	first, _, _ := w.citizen("ann@example.com")
	if !first.Account.Operator {
		t.Error("the first is no operator")
	}
	for _, email := range []string{"ann@example.com", "bob@example.com"} {
		if token, err := w.SignUp(t.Context(), SignUp{Email: email, Password: "another " + password, Address: home}); token != "" ||
			err != nil {
			t.Errorf("signing up as %s: %q, %v", email, token, err)
		}
	}
	_, err := w.signIn("ann@example.com", "another "+password, home)
	w.wantCode("signing in with the password of who signed up again", err, fault.Unauthorized)
	_, err = w.signIn("ann@example.com", password, home)
	w.wantCode("the first one's password", err, 0)
	token, err := w.signIn("bob@example.com", "another "+password, home)
	w.wantCode("the newcomer's", err, 0)
	if a, err := w.Session(t.Context(), token); err != nil || a.Account.Operator {
		t.Errorf("the newcomer is %+v, %v", a, err)
	}
}

func TestSignUp_InviteWorksOnce(t *testing.T) {
	w := newTown(t, SignupInvite)
	w.citizen("operator@example.com")
	code, invite, err := CreateInvite(t.Context(), w.s, w.Now())
	if err != nil || !strings.HasPrefix(code, "inv_") || !invite.ExpiresAt.Equal(w.now.Add(7*24*time.Hour)) {
		t.Fatalf("%q, %+v, %v", code, invite, err)
	}
	try := func(email, code string) error {
		_, err := w.SignUp(t.Context(), SignUp{Email: email, Password: password, Invite: code, Address: home})
		return err
	}
	for _, bad := range []string{"", "inv_x", code + "x"} {
		w.wantCode("a wrong invite", try("ann@example.com", bad), fault.Invalid)
	}
	w.wantCode("the invite", try("ann@example.com", code), 0)
	w.wantCode("the invite again", try("bob@example.com", code), fault.Invalid)
	late, _, _ := CreateInvite(t.Context(), w.s, w.Now())
	w.wantCode("a taken email", try("ann@example.com", late), fault.Invalid)
	w.pass(InviteLasts)
	w.wantCode("an expired one", try("bob@example.com", late), fault.Invalid)
}

func TestSignUp_ClosedRefusesEverybody(t *testing.T) {
	w := newTown(t, SignupClosed)
	_, err := w.signUp("ann@example.com")
	w.wantCode("signing up", err, fault.Forbidden)
}

func TestSignUp_RefusesInvalidInput(t *testing.T) {
	w := newTown(t, SignupOpen)
	for name, c := range map[string]struct{ email, password, want string }{
		"no address": {"ann", password, "email must be an email address like alex@example.com"},
		"nothing":    {"", "", "password must have at least 10 characters; email must be an email address like alex@example.com"},
		"the public": {"public", password, "email must be an email address like alex@example.com"},
		"short":      {"ann@example.com", "ninechars", "password must have at least 10 characters"},
		"long":       {"ann@example.com", strings.Repeat("ab", 129), "password must have at most 256 characters"},
		"one letter": {"ann@example.com", "aaaaaaaaaaaa",
			"password is too easy to guess; take a few words that only you would put together"},
		"the email": {"ann@example.com", "Ann@Example.com",
			"password is too easy to guess; take a few words that only you would put together"},
		"not characters": {"ann@example.com", "\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe", "password must have at most 256 characters"},
	} {
		w.signups.forget(network(home))
		_, err := w.SignUp(t.Context(), SignUp{Email: c.email, Password: c.password, Setup: w.setupCode(), Address: home})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if accounts, err := w.s.AccountList(t.Context()); len(accounts) != 0 || err != nil {
		t.Errorf("%d accounts, %v", len(accounts), err)
	}
}

func TestSignIn_DoesNotRevealWhichAccountsExist(t *testing.T) {
	w := newTown(t, SignupFirst)
	w.citizen("ann@example.com")
	if _, err := CreateAccount(t.Context(), w.s, "cli@example.com", w.Now()); err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, email := range []string{"ann@example.com", "nobody@example.com", "cli@example.com", "public", "", strings.Repeat("x", 5000)} {
		_, err := w.signIn(email, "wrong "+password, home)
		w.wantCode(email, err, fault.Unauthorized)
		answers = append(answers, err.Error())
	}
	for _, answer := range answers {
		if answer != "the email or the password is wrong" {
			t.Errorf("the answer is %q", answer)
		}
	}
	if token, err := w.signIn(" ANN@example.com", password, home); err != nil || token == "" {
		t.Errorf("signing in: %v", err)
	}
}

func TestAttemptsAreThrottled(t *testing.T) {
	w := newTown(t, SignupFirst)
	w.citizen("ann@example.com")
	wrong := func(email, address string, want fault.Code) {
		t.Helper()
		_, err := w.signIn(email, "wrong", address)
		w.wantCode(email+" from "+address, err, want)
		var f *fault.Error
		if want == fault.TooMany && asFault(err, &f) && f.RetryAfter <= 0 {
			t.Error("it is not told when to try again")
		}
	}
	for range 5 {
		wrong("ann@example.com", home, fault.Unauthorized)
	}
	wrong("ann@example.com", home, fault.TooMany)
	_, err := w.signIn("ann@example.com", password, home)
	w.wantCode("the right password after too many", err, fault.TooMany)
	// Someone who does not exist is throttled alike.
	for range 5 {
		wrong("nobody@example.com", home, fault.Unauthorized)
	}
	wrong("nobody@example.com", home, fault.TooMany)
	// Ann comes in from elsewhere, and after a while.
	_, err = w.signIn("ann@example.com", password, "192.0.2.2")
	w.wantCode("the right password from elsewhere", err, 0)
	w.pass(time.Minute)
	_, err = w.signIn("ann@example.com", password, home)
	w.wantCode("the right password after a minute", err, 0)
	wrong("ann@example.com", home, fault.Unauthorized) // counted anew after a success
}

func asFault(err error, f **fault.Error) bool {
	found, ok := err.(*fault.Error)
	*f = found
	return ok
}

func TestManyEmailsFromOneNetworkAreThrottled(t *testing.T) {
	w := newTown(t, SignupClosed)
	refused := 0
	for i := range 24 {
		// One household of IPv6 has many addresses.
		if err := w.attempt(fmt.Sprintf("%d@example.com", i), fmt.Sprintf("2001:db8::%d", i)); fault.CodeOf(err) == fault.TooMany {
			refused++
		}
	}
	if refused != 4 {
		t.Errorf("%d of 24 refused, want all but 20", refused)
	}
	if err := w.attempt("x@example.com", "2001:db8:0:1::1"); err != nil {
		t.Errorf("another network: %v", err)
	}
}

func TestManyNetworksForOneEmailAreThrottled(t *testing.T) {
	w := newTown(t, SignupClosed)
	refused := 0
	for i := range 60 {
		if err := w.attempt("ann@example.com", fmt.Sprintf("198.51.100.%d", i)); fault.CodeOf(err) == fault.TooMany {
			refused++
		}
	}
	if refused != 10 {
		t.Errorf("%d of 60 refused, want all but 50", refused)
	}
}

func TestSignIn_StrangersDoNotLockOutAKnownNetwork(t *testing.T) {
	w := newTown(t, SignupFirst)
	w.citizen("ann@example.com")
	_, err := w.SignIn(t.Context(), "ann@example.com", password, Client{Address: home})
	w.wantCode("signing in", err, 0)
	for i := range 60 {
		_ = w.attempt("ann@example.com", fmt.Sprintf("198.51.100.%d", i))
	}
	_, err = w.SignIn(t.Context(), "ann@example.com", password, Client{Address: "203.0.113.1"})
	w.wantCode("from a new network", err, fault.TooMany)
	_, err = w.SignIn(t.Context(), "ann@example.com", password, Client{Address: home})
	w.wantCode("from home", err, 0)
	// At home attempts are counted all the same.
	for range 5 {
		_, err = w.SignIn(t.Context(), "ann@example.com", "wrong", Client{Address: home})
		w.wantCode("a wrong password", err, fault.Unauthorized)
	}
	_, err = w.SignIn(t.Context(), "ann@example.com", password, Client{Address: home})
	w.wantCode("after five", err, fault.TooMany)
}

func TestSignUp_AfterTheLastAccountIsDeletedIsNoOperator(t *testing.T) {
	w := newTown(t, SignupOpen)
	a, _, _ := w.citizen("ann@example.com")
	w.wantCode("deleting", w.Delete(t.Context(), a, password, "", home), 0)
	_, err := w.signUp("bob@example.com")
	w.wantCode("the next", err, 0)
	if b, err := w.s.AccountGet(t.Context(), "bob@example.com"); err != nil || b.Operator {
		t.Errorf("the next is %+v, %v", b, err)
	}
}

func TestThrottle_MemoryIsBounded(t *testing.T) {
	t.Parallel()
	th := newThrottle(1, time.Hour)
	now := time.Now()
	for i := range 3*maxThrottled + 1 {
		if err := th.allow(fmt.Sprint(i), now); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(th.recent) + len(th.older); n > 2*maxThrottled {
		t.Errorf("%d keys are remembered", n)
	}
	f := newFamiliar()
	for i := range 3*maxThrottled + 1 {
		f.add(fmt.Sprint(i))
	}
	if n := len(f.recent) + len(f.older); n > 2*maxThrottled || !f.has(fmt.Sprint(3*maxThrottled)) || f.has("0") {
		t.Errorf("%d pairs are remembered", n)
	}
	if err := th.allow(fmt.Sprint(3*maxThrottled), now); fault.CodeOf(err) != fault.TooMany {
		t.Errorf("the latest is forgotten: %v", err)
	}
}

func TestSessionsSlideAndEnd(t *testing.T) {
	w := newTown(t, SignupFirst)
	_, _, token := w.citizen("ann@example.com")
	for range 3 {
		w.pass(13 * 24 * time.Hour)
		if v, err := w.Session(t.Context(), token); err != nil || !v.Session.ExpiresAt.Equal(w.now.Add(SessionLasts)) {
			t.Fatalf("a session in use: %+v, %v", v, err)
		}
	}
	w.pass(SessionLasts)
	_, err := w.Session(t.Context(), token)
	w.wantCode("a session that was left alone", err, fault.Unauthorized)
	for _, other := range []string{"", "x", token + "x"} {
		_, err := w.Session(t.Context(), other)
		w.wantCode("no session's token", err, fault.Unauthorized)
	}
	token, err = w.signIn("ann@example.com", password, home)
	w.wantCode("signing in", err, 0)
	w.wantCode("signing out", w.SignOut(t.Context(), token, home), 0)
	_, err = w.Session(t.Context(), token)
	w.wantCode("after signing out", err, fault.Unauthorized)
}

func TestChangingThePasswordEndsOtherSessions(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, token := w.citizen("ann@example.com")
	other, err := w.signIn(a.Person.Email, password, home)
	w.wantCode("signing in", err, 0)
	w.wantCode("a wrong current one", w.ChangePassword(t.Context(), a, "wrong", "a new "+password, false, home), fault.Invalid)
	w.wantCode("a short new one", w.ChangePassword(t.Context(), a, password, "short", false, home), fault.Invalid)
	_, err = w.Session(t.Context(), other)
	w.wantCode("the other session until then", err, 0)
	w.wantCode("changing", w.ChangePassword(t.Context(), a, password, "a new "+password, false, home), 0)
	_, err = w.Session(t.Context(), token)
	w.wantCode("this session", err, 0)
	_, err = w.Session(t.Context(), other)
	w.wantCode("the other session", err, fault.Unauthorized)
	_, err = w.signIn(a.Person.Email, password, home)
	w.wantCode("the old password", err, fault.Unauthorized)
	_, err = w.signIn(a.Person.Email, "a new "+password, home)
	w.wantCode("the new password", err, 0)
}

func TestADeletedAccountIsGoneAtOnce(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, token := w.citizen("ann@example.com")
	check, err := New(t.Context(), Config{Store: w.s, Now: w.s.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w.Forget = check.Forget
	key, _, err := CreateKey(t.Context(), w.s, a.Account, "k", w.Now())
	w.wantCode("making a key", err, 0)
	_, err = check.Authenticate(t.Context(), "Bearer "+key, netip.Addr{})
	w.wantCode("the key", err, 0)
	_, err = check.SigningSecrets(t.Context(), a.Account.Number)
	w.wantCode("the secrets", err, 0)
	w.wantCode("a wrong password", w.Delete(t.Context(), a, "wrong", "", home), fault.Invalid)
	w.wantCode("deleting", w.Delete(t.Context(), a, password, "", home), 0)
	_, err = w.Session(t.Context(), token)
	w.wantCode("the session", err, fault.Unauthorized)
	_, err = w.signIn(a.Person.Email, password, "192.0.2.9")
	w.wantCode("signing in", err, fault.Unauthorized)
	_, err = check.Authenticate(t.Context(), "Bearer "+key, netip.Addr{})
	w.wantCode("the key", err, fault.Unauthorized)
	_, err = check.SigningSecrets(t.Context(), a.Account.Number)
	w.wantCode("the secrets", err, fault.NotFound)
}

func TestMatches_RefusesInvalidHashes(t *testing.T) {
	t.Parallel()
	h := newHasher()
	for _, bad := range []string{"x", "$argon2i$v=19$m=1,t=1,p=1$AA$AA", "$argon2id$v=18$m=8,t=1,p=1$AA$AA",
		"$argon2id$v=19$m=8,t=0,p=1$AA$AA", "$argon2id$v=19$m=8,t=1,p=1$AA$", "$argon2id$v=19$m=8,t=1$AA$AA"} {
		if same, err := h.matches(t.Context(), home, password, bad); same || err == nil {
			t.Errorf("%q: %v, %v", bad, same, err)
		}
	}
	if same, err := h.matches(t.Context(), home, "", nobody); same || err != nil {
		t.Errorf("nobody's: %v, %v", same, err)
	}
}

func TestAKeyIsKnownUntilItIsRevoked(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, _ := w.citizen("ann@example.com")
	check, err := New(t.Context(), Config{Store: w.s, Now: w.s.Now, PublicKey: "sk_public", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	key, record, err := CreateKey(t.Context(), w.s, a.Account, "k", w.Now())
	w.wantCode("making a key", err, 0)
	knows := func(when, header string, want bool) {
		t.Helper()
		if got := check.Knows(header); got != want {
			t.Errorf("%s: %t", when, got)
		}
	}
	knows("the public key", "Token sk_public", true)
	knows("before it was used", "Bearer "+key, false)
	_, err = check.Authenticate(t.Context(), "Bearer "+key, netip.Addr{})
	w.wantCode("the key", err, 0)
	check.Forget()
	knows("when it was used", "Bearer "+key, true)
	w.wantCode("revoking it", w.s.KeyRevoke(t.Context(), record.ID, w.Now()), 0)
	w.pass(time.Minute)
	knows("until it is looked up", "Bearer "+key, true)
	_, err = check.Authenticate(t.Context(), "Bearer "+key, netip.Addr{})
	w.wantCode("the revoked key", err, fault.Unauthorized)
	knows("afterwards", "Bearer "+key, false)
	for _, header := range []string{"", "Bearer", "Bearer x", "Basic " + key} {
		knows(header, header, false)
	}
}
