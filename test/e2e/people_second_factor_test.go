package e2e

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const password = "correct horse battery"

// person is a user with a browser.
type person struct {
	*testing.T
	client *http.Client
	base   string
}

func newPerson(t *testing.T, s *harness.Service) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{T: t, client: &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, base: s.URL()}
}

// visit opens a page or submits a form, and fails the test unless the status is
// as wanted and the page contains a text or redirects to it.
func (p *person) visit(path string, form url.Values, status int, says string) (page string) {
	p.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	request, err := http.NewRequestWithContext(p.Context(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	request.Header.Set("Origin", p.base)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := p.client.Do(request)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.Fatal(err)
	}
	if got := response.Header.Get("Location") + string(text); response.StatusCode != status || !strings.Contains(got, says) {
		p.Fatalf("%s %s: status %d, want %d and %q: %.2000s", method, path, response.StatusCode, status, says, got)
	}
	return string(text)
}

func fields(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

var (
	secretText   = regexp.MustCompile(`id="totp-secret"[^>]*>([A-Z2-7 ]+)<`)
	recoveryText = regexp.MustCompile(`[a-z2-7]{4}(-[a-z2-7]{4}){3}`)
)

func TestPeopleSecondFactor_GuardsTheDashboard(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Service.SetPassword(t, a.Email, password)
	p := newPerson(t, a.Service)
	signIn := fields("email", a.Email, "password", password, "to", "/settings")
	p.visit("/sign-in", signIn, 303, "/settings")
	p.visit("/settings/second-factor", fields("password", "wrong"), 422, "is not your password")
	p.visit("/settings/second-factor", fields("password", password), 303, "/settings/second-factor")
	page := p.visit("/settings/second-factor", nil, 200, "otpauth://totp/punctual:")
	secret := secretText.FindStringSubmatch(page)[1]
	p.visit("/settings/second-factor/confirm", fields("code", "12345"), 422, "is not the one that your app should show now")
	page = p.visit("/settings/second-factor/confirm", fields("code", harness.Authenticator(t, secret, 0)), 200, "won't see them again")
	recovery := recoveryText.FindAllString(page, -1)
	if len(recovery) != 10 {
		t.Fatalf("%d recovery codes", len(recovery))
	}

	q := newPerson(t, a.Service)
	q.visit("/sign-in/code", nil, 303, "/sign-in")
	q.visit("/sign-in", signIn, 303, "/sign-in/code?to=%2Fsettings")
	q.visit("/settings", nil, 303, "/sign-in")
	q.visit("/sign-in/code", nil, 200, "Enter the code")
	q.visit("/sign-in/code", fields("code", "000000"), 401, "The code is wrong")
	code := harness.Authenticator(t, secret, 1) // clocks may differ by a step; this one has not been used
	q.visit("/sign-in/code", fields("code", code, "to", "/settings"), 303, "/settings")
	q.visit("/settings", nil, 200, "Firefox on Linux")

	r := newPerson(t, a.Service)
	r.visit("/sign-in", signIn, 303, "/sign-in/code")
	r.visit("/sign-in/code", fields("code", code), 401, "was used before")
	r.visit("/sign-in/code", fields("code", recovery[0], "to", "https://evil.example"), 303, "/")
	// Keys are not affected, and the first browser sees who else is there.
	a.Get("/api/jobs").Want(200)
	page = p.visit("/settings", nil, 200, "Sessions")
	end := regexp.MustCompile(`/settings/sessions/[0-9a-f]{64}/end`).FindAllString(page, -1)
	if len(end) != 3 {
		t.Fatalf("%d sessions are listed", len(end))
	}
	p.visit("/settings/sessions/end-others", fields(), 303, "/settings?done=endedothers")
	q.visit("/settings", nil, 303, "/sign-in")
	r.visit("/settings", nil, 303, "/sign-in")
	p.visit("/settings/audit", nil, 200, "Recovery code used")

	if got := a.Service.Command(t, "accounts", "reset-totp", a.Email); !strings.Contains(got, "no second factor any more") {
		t.Errorf("the command says %s", got)
	}
	newPerson(t, a.Service).visit("/sign-in", signIn, 303, "/settings")
	got := strings.Join(auditEvents(a.Get("/api/account/audit?limit=100").Want(200).Data()), " ")
	want := "signin.succeeded totp.reset session.ended signin.succeeded totp.recovery_used signin.succeeded signin.failed totp.enabled password.failed signin.succeeded password.changed key.created account.created"
	if got != want {
		t.Errorf("the events are\n%s\nwant\n%s", got, want)
	}
}
