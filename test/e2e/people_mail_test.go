package e2e

import (
	"io"
	"mime/quotedprintable"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/ports"
)

var personLink = regexp.MustCompile(`http://\S+(/(?:confirm-email|reset-password|change-email)/link_\w{43})`)

// linkTo waits for the n-th e-mail to an address, and returns the path of its link.
func linkTo(t *testing.T, m *harness.MailServer, address string, n int) string {
	t.Helper()
	var found []harness.Letter
	harness.Eventually(t, soon, "an e-mail to "+address, func() bool {
		found = nil
		for _, l := range m.Letters() {
			if strings.Contains(l.Data, "To: <"+address+">") {
				found = append(found, l)
			}
		}
		return len(found) >= n
	})
	parsed, err := mail.ReadMessage(strings.NewReader(found[n-1].Data))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	link := personLink.FindStringSubmatch(string(body))
	if err != nil || link == nil {
		t.Fatalf("the e-mail is\n%s\n%v", found[n-1].Data, err)
	}
	return link[1]
}

// mailed starts a service with open sign-up that knows its address and sends e-mails.
func mailed(t *testing.T) (*harness.Service, *harness.MailServer) {
	t.Helper()
	m, address := harness.NewMailServer(t, false, true), ports.Free(t)
	s := harness.Start(t, harness.Flag("listen", address), harness.Flag("public-url", "http://"+address), harness.Flag("signup", "open"),
		harness.Flag("smtp-url", "smtp://"+m.Addr), harness.Flag("smtp-from", "punctual@example.com"))
	s.Account(t) // so that those who sign up are not the first
	return s, m
}

func credentials(email, password string) url.Values {
	return url.Values{"email": {email}, "password": {password}}
}

func TestPeopleMail_SignUpIsConfirmedByWhoHasThePassword(t *testing.T) {
	t.Parallel()
	s, m := mailed(t)
	const email = "ann@example.org"
	eve, ann := newSurfer(t, s), newSurfer(t, s)
	const answer = "A link was sent to your email address"
	if status, _, text := eve.open("POST", "/sign-up", credentials(email, "the password of eve")); status != 200 ||
		!strings.Contains(text, answer) {
		t.Fatalf("signing up: %d, %s", status, text)
	}
	first := linkTo(t, m, email, 1)
	// Whoever signs up last has the password, so that nobody can wait with one for ann.
	if status, _, text := ann.open("POST", "/sign-up", credentials(email, "correct horse battery")); status != 200 ||
		!strings.Contains(text, answer) {
		t.Fatalf("signing up again: %d, %s", status, text)
	}
	linkTo(t, m, email, 2)
	if status, _, text := ann.open("POST", "/sign-in", credentials(email, "correct horse battery")); status != 403 ||
		!strings.Contains(text, "onfirm your email address first") {
		t.Errorf("signing in before: %d, %s", status, text)
	}
	link := linkTo(t, m, email, 3)
	for _, step := range []struct {
		path, password string
		status         int
	}{{first, "the password of eve", 404}, {link, "the password of eve", 422}, {link + "x", "correct horse battery", 404},
		{link, "correct horse battery", 303}, {link, "correct horse battery", 404}} {
		if status, _, text := ann.open("POST", step.path, url.Values{"password": {step.password}}); status != step.status {
			t.Errorf("%s with %q: %d, want %d: %s", step.path, step.password, status, step.status, text)
		}
	}
	if !ann.signedIn() || eve.signedIn() {
		t.Errorf("signed in: ann %t, eve %t", ann.signedIn(), eve.signedIn())
	}
	if status, _, _ := eve.open("POST", "/sign-up", credentials(email, "the password of eve")); status != 200 {
		t.Errorf("signing up once more: %d", status)
	}
	if status, _, _ := newSurfer(t, s).open("POST", "/sign-in", credentials(email, "correct horse battery")); status != 303 {
		t.Errorf("signing in afterwards: %d", status)
	}
}

func TestPeopleMail_ResetEndsAllSessionsAndRevealsNobody(t *testing.T) {
	t.Parallel()
	s, m := mailed(t)
	const email = "ann@example.org"
	s.Command(t, "accounts", "create", email)
	s.SetPassword(t, email, "correct horse battery")
	here, b := newSurfer(t, s), newSurfer(t, s)
	if status, _, _ := here.open("POST", "/sign-in", credentials(email, "correct horse battery")); status != 303 {
		t.Fatalf("signing in: %d", status)
	}
	ask := func(email string) (int, string) {
		status, _, text := b.open("POST", "/forgot-password", url.Values{"email": {email}})
		return status, regexp.MustCompile(`data-now="[^"]*"`).ReplaceAllString(text, "")
	}
	status, known := ask(email)
	status2, unknown := ask("nobody@example.org")
	if status != 200 || status2 != 200 || known != strings.ReplaceAll(unknown, "nobody@", "ann@") ||
		!strings.Contains(known, "If somebody signs in with this email") {
		t.Errorf("the answers differ: %d, %d\n%s\n%s", status, status2, known, unknown)
	}
	old := linkTo(t, m, email, 1)
	ask(email)
	link := linkTo(t, m, email, 2)
	const fresh = "another horse battery"
	for _, step := range []struct {
		method, path, password string
		status                 int
	}{
		{"GET", old, "", 404}, {"GET", link, "", 200}, {"GET", link, "", 200}, {"GET", link + "x", "", 404},
		{"GET", "/reset-password/x", "", 404}, {"POST", old, fresh, 404},
		{"POST", strings.Replace(link, "reset-password", "confirm-email", 1), fresh, 404}, {"POST", link, "short", 422},
		{"POST", link, fresh, 303}, {"POST", link, fresh, 404},
	} {
		if status, _, text := b.open(step.method, step.path, url.Values{"password": {step.password}}); status != step.status {
			t.Errorf("%s %s: %d, want %d: %s", step.method, step.path, status, step.status, text)
		}
	}
	if here.signedIn() {
		t.Error("a session from before goes on")
	}
	for password, want := range map[string]int{"correct horse battery": 401, fresh: 303} {
		if status, _, _ := newSurfer(t, s).open("POST", "/sign-in", credentials(email, password)); status != want {
			t.Errorf("signing in with %q: %d, want %d", password, status, want)
		}
	}
	// The mailbox gets three, the network may ask ten times, and nobody gets any other.
	for range 7 {
		if status, _ := ask(email); status != 200 {
			t.Errorf("asking often: %d", status)
		}
	}
	if status, _ := ask(email); status != 429 {
		t.Errorf("asking too often: %d", status)
	}
	linkTo(t, m, email, 3)
	if code := s.Stop(); code != 0 {
		t.Errorf("the service ended with %d", code)
	}
	if n := len(m.Letters()); n != 3 {
		t.Errorf("%d e-mails were sent", n)
	}
}

func TestPeopleMail_NewEmailNeedsBothMailboxAndPassword(t *testing.T) {
	t.Parallel()
	s, m := mailed(t)
	const email, fresh, password = "ann@example.org", "anna@example.org", "correct horse battery"
	for _, e := range []string{email, "bob@example.org"} {
		s.Command(t, "accounts", "create", e)
		s.SetPassword(t, e, password)
	}
	ann := newSurfer(t, s)
	if status, _, _ := ann.open("POST", "/sign-in", credentials(email, password)); status != 303 {
		t.Fatalf("signing in: %d", status)
	}
	change := func(email, password string) (int, string) {
		status, where, text := ann.open("POST", "/settings/email", url.Values{"new_email": {email}, "email_password": {password}})
		return status, where + text
	}
	for _, c := range []struct{ email, password, want string }{
		{"anna", password, "must be an email address"}, {email, password, "is your address already"},
		{fresh, "wrong password", "is not your password"},
	} {
		if status, text := change(c.email, c.password); status != 422 || !strings.Contains(text, c.want) {
			t.Errorf("%q with %q: %d, %s", c.email, c.password, status, text)
		}
	}
	// Neither address reveals whether it is taken.
	taken, where := change("BOB@example.org", password)
	free, where2 := change(fresh, password)
	if taken != 303 || free != 303 || where != where2 {
		t.Fatalf("the answers differ: %d %s, %d %s", taken, where, free, where2)
	}
	link := linkTo(t, m, fresh, 1)
	eve := newSurfer(t, s)
	for _, step := range []struct {
		method, path, password string
		status                 int
	}{
		{"GET", link, "", 200}, {"POST", link, "the password of eve", 422}, {"POST", link + "x", password, 404},
		{"POST", strings.Replace(link, "change-email", "confirm-email", 1), password, 404}, {"POST", link, password, 303},
		{"POST", link, password, 404},
	} {
		if status, _, text := eve.open(step.method, step.path, url.Values{"password": {step.password}}); status != step.status {
			t.Errorf("%s %s with %q: %d, want %d: %s", step.method, step.path, step.password, status, step.status, text)
		}
	}
	for e, want := range map[string]int{email: 401, fresh: 303} {
		if status, _, _ := newSurfer(t, s).open("POST", "/sign-in", credentials(e, password)); status != want {
			t.Errorf("signing in as %s: %d, want %d", e, status, want)
		}
	}
	if shown := s.Command(t, "accounts", "show", fresh, "--json"); !strings.Contains(shown, `"`+fresh+`"`) {
		t.Errorf("the account is %s", shown)
	}
	notice := func() (n int) {
		for _, l := range m.Letters() {
			if strings.Contains(l.Data, "To: <"+email+">") && strings.Contains(l.Data, "Your email address was changed") {
				n++
			}
			if strings.Contains(l.Data, "To: <bob@example.org>") {
				t.Errorf("bob got %s", l.Data)
			}
		}
		return n
	}
	harness.Eventually(t, soon, "the notice to the old address", func() bool { return notice() == 1 })
}

func TestPeopleMail_OperatorChangesAnEmail(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	for _, e := range []string{"ann@example.org", "bob@example.org"} {
		s.Command(t, "accounts", "create", e)
		s.SetPassword(t, e, "correct horse battery")
	}
	ann := newSurfer(t, s)
	if status, _, _ := ann.open("POST", "/sign-in", credentials("ann@example.org", "correct horse battery")); status != 303 {
		t.Fatalf("signing in: %d", status)
	}
	form := url.Values{"new_email": {"anna@example.org"}, "email_password": {"correct horse battery"}}
	if status, _, text := ann.open("POST", "/settings/email", form); status != 422 ||
		!strings.Contains(text, "sk its operator to change the address") {
		t.Errorf("without e-mails: %d, %s", status, text)
	}
	for _, c := range [][]string{
		{"ann@example.org", "bob@example.org"}, {"ann@example.org", "anna"}, {"nobody@example.org", "x@example.org"},
	} {
		if r := s.TryCommand(t, "accounts", "change-email", c[0], c[1]); r.Code == 0 {
			t.Errorf("from %s to %s: %s", c[0], c[1], r.Stdout)
		}
	}
	s.Command(t, "accounts", "change-email", "ann@example.org", "Anna@example.org")
	if !ann.signedIn() {
		t.Error("the session has ended")
	}
	if status, _, _ := newSurfer(t, s).open("POST", "/sign-in", credentials("anna@example.org", "correct horse battery")); status != 303 {
		t.Errorf("signing in with the new email: %d", status)
	}
}
