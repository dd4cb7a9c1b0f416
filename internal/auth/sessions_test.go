package auth

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

func TestASessionEndsAfterNinetyDays(t *testing.T) {
	w := newTown(t, SignupFirst)
	_, _, token := w.citizen("ann@example.com")
	for day := 13; day < 90; day += 13 {
		w.pass(13 * 24 * time.Hour)
		if v, err := w.Session(t.Context(), token); err != nil || v.Session.ExpiresAt.After(v.Session.CreatedAt.Add(90*24*time.Hour)) {
			t.Fatalf("on day %d: %+v, %v", day, v, err)
		}
	}
	w.pass(12*24*time.Hour - time.Second)
	_, err := w.Session(t.Context(), token)
	w.wantCode("a second before the end", err, 0)
	w.pass(time.Second)
	_, err = w.Session(t.Context(), token)
	w.wantCode("after 90 days", err, fault.Unauthorized)
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, here, token := w.citizen("ann@example.com")
	w.pass(time.Minute)
	in, err := w.SignIn(t.Context(), a.Person.Email, password, Client{Address: "192.0.2.7", Agent: strings.Repeat("é", 400)})
	w.wantCode("signing in", err, 0)
	sessions, err := w.Sessions(t.Context(), a.Person.ID)
	if err != nil || len(sessions) != 2 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	other := sessions[0]
	if other.Address != "192.0.2.7" || other.Agent != strings.Repeat("é", 150) || SessionID(sessions[1]) != SessionID(here) {
		t.Errorf("the sessions are %+v", sessions)
	}
	w.wantCode("no session", w.EndSession(t.Context(), a, "x", home), fault.NotFound)
	w.wantCode("another's", w.EndSession(t.Context(), &Visit{Account: a.Account, Person: &identity.Person{Email: "bob@example.com"}},
		SessionID(other), home), fault.NotFound)
	w.wantCode("ending it", w.EndSession(t.Context(), a, SessionID(other), home), 0)
	_, err = w.Session(t.Context(), in.Token)
	w.wantCode("the ended session", err, fault.Unauthorized)
	_, err = w.signIn(a.Person.Email, password, home)
	w.wantCode("signing in", err, 0)
	w.wantCode("ending the others", w.EndOtherSessions(t.Context(), a, home), 0)
	if sessions, err := w.Sessions(t.Context(), a.Person.ID); err != nil || len(sessions) != 1 {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
	_, err = w.Session(t.Context(), token)
	w.wantCode("the session at hand", err, 0)
}

func TestBrowser(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                                  "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0":               "Edge on Windows",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36":                            "Chrome on Android",
		"Firefox/1": "Firefox", "": "unknown browser", "curl/8.5.0": "curl/8.5.0", strings.Repeat("é", 50): strings.Repeat("é", 40) + "…",
	} {
		if got := Browser(agent); got != want {
			t.Errorf("%s is %q, want %q", agent, got, want)
		}
	}
}

func TestAPasswordChangeRevokesKeysWhenAsked(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, _ := w.citizen("ann@example.com")
	forgotten := 0
	w.Forget = func() { forgotten++ }
	_, _, err := CreateKey(t.Context(), w.s, a.Account, "k", w.Now())
	w.wantCode("a key", err, 0)
	revoked := func() bool {
		keys, err := w.s.KeyList(t.Context(), a.Account.Number)
		if err != nil || len(keys) != 1 {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		return !keys[0].RevokedAt.IsZero()
	}
	w.wantCode("changing", w.ChangePassword(t.Context(), a, password, "a new "+password, false, home), 0)
	if revoked() {
		t.Error("the key is revoked unasked")
	}
	a = w.again(a)
	w.wantCode("a wrong one", w.ChangePassword(t.Context(), a, password, "newer "+password, true, home), fault.Invalid)
	if revoked() {
		t.Error("the key is revoked by who does not know the password")
	}
	w.wantCode("changing", w.ChangePassword(t.Context(), a, "a new "+password, "newer "+password, true, home), 0)
	if !revoked() || forgotten != 1 {
		t.Errorf("revoked %v, forgotten %d times", revoked(), forgotten)
	}
}

// trail returns an audit log's entries, in the order of the letters: the clock
// stands still between entries.
func (w *town) trail(account int64) string {
	w.Helper()
	entries, err := w.s.AuditList(w.Context(), account, "", uuid.Nil, 100)
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, a := range entries {
		lines = append(lines, fmt.Sprintf("%s by %s from %s ×%d: %s", a.Event, a.ActorKind, a.Address, a.Count, a.Detail))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestPeople_ActionsAreAudited(t *testing.T) {
	w := newTown(t, SignupFirst)
	var logged strings.Builder
	w.Audit = audit.New(w.s, w.s.Now, slog.New(slog.NewTextHandler(&logged, nil)))
	a, _, token := w.citizen("ann@example.com")
	for i := range 3 {
		w.pass(time.Second)
		_, err := w.signIn(a.Person.Email, "wrong", fmt.Sprintf("2001:db8::%d", i)) // of one network
		w.wantCode("a wrong password", err, fault.Unauthorized)
		_, err = w.signIn("bob@example.com", "wrong", home)
		w.wantCode("an unknown email", err, fault.Unauthorized)
	}
	_, err := w.signIn("correct horse battery", "wrong", "192.0.2.9")
	w.wantCode("a password as an email", err, fault.Unauthorized)
	w.pass(time.Minute)
	w.wantCode("a wrong password", w.ChangePassword(t.Context(), a, "wrong", "a new "+password, true, home), fault.Invalid)
	w.pass(time.Second)
	w.wantCode("changing", w.ChangePassword(t.Context(), a, password, "a new "+password, true, home), 0)
	w.pass(time.Second)
	w.wantCode("signing out", w.SignOut(t.Context(), token, home), 0)
	want := `account.created by session from 192.0.2.1 ×1: ann@example.com
password.changed by session from 192.0.2.1 ×1: other sessions ended, all keys revoked
password.failed by nobody from 192.0.2.1 ×1: the password was wrong
signin.failed by nobody from 2001:db8::2 ×3: the password was wrong
signin.succeeded by session from 192.0.2.1 ×1: unknown browser
signout by session from 192.0.2.1 ×1: `
	if got := w.trail(a.Account.Number); got != want {
		t.Errorf("the account's is\n%s\nwant\n%s", got, want)
	}
	want = `signin.failed by nobody from 192.0.2.1 ×3: no account has the email bob@example.com
signin.failed by nobody from 192.0.2.9 ×1: no account has this email`
	if got := w.trail(0); got != want {
		t.Errorf("the service's is\n%s\nwant\n%s", got, want)
	}
	for _, line := range []string{
		`msg=audit event=signin.failed actor=nobody account=` + a.Account.ID.String() +
			` address=2001:db8::2 detail="the password was wrong"`,
		`msg=audit event=password.changed actor=session name=ann@example.com account=` + a.Account.ID.String() +
			` address=192.0.2.1 detail="other sessions ended, all keys revoked"`,
	} {
		if !strings.Contains(logged.String(), line) {
			t.Errorf("not logged: %s\n%s", line, logged.String())
		}
	}
	if strings.Contains(logged.String()+w.trail(0)+w.trail(a.Account.Number), "correct horse") {
		t.Error("a password is recorded")
	}
}

func TestTOTP_ActionsAreAudited(t *testing.T) {
	w := newTown(t, SignupFirst)
	w.Audit = audit.New(w.s, w.s.Now, nil)
	a, _, codes := w.enrolled("ann@example.com")
	w.pass(time.Second)
	_, err := w.giveCode(w.pending(a), "000000")
	w.wantCode("a wrong code", err, fault.Unauthorized)
	w.pass(time.Second)
	_, err = w.giveCode(w.pending(a), codes[0])
	w.wantCode("a recovery code", err, 0)
	w.pass(time.Second)
	w.wantCode("switching it off", w.DisableTOTP(t.Context(), a.Person, password, codes[1], home), 0)
	w.pass(time.Second)
	w.wantCode("deleting", w.Delete(t.Context(), a, password, "", home), 0)
	got := w.trail(a.Account.Number)
	for _, part := range []string{
		"totp.disabled by session", "totp.recovery_used by session from 192.0.2.1 ×1: 9 recovery codes are left",
		"signin.failed by nobody from 192.0.2.1 ×1: the password was right, the code was wrong", "totp.enabled by session",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("there is no %s in\n%s", part, got)
		}
	}
	if got := w.trail(0); got != "account.deleted by session from 192.0.2.1 ×1: ann@example.com, id "+a.Account.ID.String() {
		t.Errorf("the service's is\n%s", got)
	}
}

func TestASessionEndsAfterItsMaximumAge(t *testing.T) {
	w := newTown(t, SignupFirst)
	_, _, token := w.citizen("ann@example.com")
	w.SessionMaxAge = time.Hour
	w.pass(time.Hour - time.Second)
	_, err := w.Session(t.Context(), token)
	w.wantCode("a second before the end", err, 0)
	w.pass(time.Second)
	_, err = w.Session(t.Context(), token)
	w.wantCode("one that began before it was configured", err, fault.Unauthorized)
	again, err := w.signIn("ann@example.com", password, home)
	w.wantCode("signing in", err, 0)
	if v, err := w.Session(t.Context(), again); err != nil || !v.Session.ExpiresAt.Equal(w.now.Add(time.Hour)) {
		t.Errorf("the session is %+v, %v", v, err)
	}
	// Sessions of a way to sign in that is switched off end.
	w.NoPasswords = true
	_, err = w.Session(t.Context(), again)
	w.wantCode("without passwords", err, fault.Unauthorized)
}
