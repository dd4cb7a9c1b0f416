package dashboard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/board"
	"github.com/punctual-dev/punctual/internal/follow"
	"github.com/punctual-dev/punctual/internal/httpapi"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/manage"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/sqlite"
)

// site is a dashboard with its API on a real store, and a clock that tests move.
type site struct {
	*testing.T
	s    store.Store
	auth *auth.Authenticator
	url  string

	manager *manage.Manager
	tls     *http.Client // trusts the site
	mu      sync.Mutex
	now     time.Time
}

type siteOption func(*Config, *auth.PeopleConfig)

func newSite(t *testing.T, secure bool, options ...siteOption) *site {
	t.Helper()
	t.Parallel()
	w := &site{T: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "punctual.db"), sqlite.Options{Now: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	w.s = s
	log, measures := slog.New(slog.DiscardHandler), metrics.New("test")
	if w.auth, err = auth.New(t.Context(), auth.Config{Store: s, Now: s.Now, Log: log}); err != nil {
		t.Fatal(err)
	}
	people := auth.PeopleConfig{Store: s, Now: s.Now, Forget: w.auth.Forget, Log: log, Pace: time.Millisecond}
	events := follow.New(follow.Config{Store: s, Log: log})
	config := Config{
		Manager: manage.New(manage.Config{Store: s, Engine: idle{}, Metrics: measures, Followers: events}), Store: s, Auth: w.auth,
		Board: board.New(s.Now), Events: events, Log: log,
		Stats: stats.New(stats.Config{Store: s, Now: s.Now, Log: log}), Version: "test", Retention: 30 * 24 * time.Hour,
	}
	for _, o := range options {
		o(&config, &people)
	}
	config.People, w.manager = auth.NewPeople(people), config.Manager
	api := httpapi.New(httpapi.Config{
		Manager: config.Manager, Store: s, Auth: w.auth, Metrics: measures, Board: config.Board, Log: log,
		Stats: config.Stats, Running: func() bool { return true },
	})
	server := httptest.NewUnstartedServer(New(config).Wrap(api))
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	w.url, w.tls = server.URL, server.Client()
	t.Cleanup(func() {
		events.Close()
		server.Close()
		config.Manager.Close()
	})
	return w
}

func signup(how auth.Signup) siteOption {
	return func(_ *Config, p *auth.PeopleConfig) { p.Signup = how }
}

func (w *site) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *site) pass(d time.Duration) {
	w.mu.Lock()
	w.now = w.now.Add(d)
	w.mu.Unlock()
}

// browser is a person's browser: it keeps cookies, and follows nothing.
type browser struct {
	*site
	client http.Client
	header http.Header
}

func (w *site) browser() *browser {
	jar, _ := cookiejar.New(nil)
	b := &browser{site: w, header: http.Header{}}
	b.client = *w.tls
	b.client.Jar = jar
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

// answer is what came back.
type answer struct {
	*http.Response
	body string
}

func (b *browser) do(method, path string, form url.Values) *answer {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), method, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", b.url)
		request.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for name, values := range b.header {
		request.Header[name] = values
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	if len(body) > 100<<10 {
		b.Errorf("%s %s has %d bytes, more than 100 KiB", method, path, len(body))
	}
	if strings.Contains(string(body), "style=") || strings.Contains(string(body), "<script>") {
		b.Errorf("%s %s has a script or style in it", method, path)
	}
	return &answer{response, string(body)}
}

func (b *browser) get(path string) *answer { b.Helper(); return b.do(http.MethodGet, path, nil) }

func (b *browser) post(path string, fields ...string) *answer {
	b.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.do(http.MethodPost, path, form)
}

// want checks an answer's status, and where it leads or what it says.
func (b *browser) want(a *answer, status int, says string) *answer {
	b.Helper()
	at := a.Request.Method + " " + a.Request.URL.Path
	switch {
	case a.StatusCode != status:
		b.Errorf("%s: status %d, want %d: %.300s", at, a.StatusCode, status, a.body)
	case status == http.StatusSeeOther:
		if got := a.Header.Get("Location"); got != says {
			b.Errorf("%s leads to %q, want %q", at, got, says)
		}
	case !strings.Contains(a.body, says):
		b.Errorf("%s does not say %q: %s", at, says, a.body)
	}
	return a
}

const secretWords = "correct horse battery"

func (b *browser) signUp(email string) *answer {
	b.Helper()
	return b.post("/sign-up", "email", email, "password", secretWords)
}

func (b *browser) signIn(email, password string) *answer {
	b.Helper()
	return b.post("/sign-in", "email", email, "password", password)
}

// citizen gives the browser of the first account, signed in.
func (w *site) citizen() *browser {
	w.Helper()
	b := w.browser()
	b.want(b.signUp("ann@example.com"), 303, "/welcome")
	return b
}

var keyPattern = regexp.MustCompile(`sk_[0-9A-Za-z]{43}`)

// calls makes a call of the API with a key and gives its status.
func (w *site) calls(key string) int {
	w.Helper()
	request, _ := http.NewRequestWithContext(w.Context(), http.MethodGet, w.url+"/api/jobs", nil)
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := w.tls.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestTheFirstVisitorSignsUpAndGetsAKeyOnce(t *testing.T) {
	w := newSite(t, false)
	b := w.browser()
	b.want(b.get("/"), 303, "/sign-up")
	b.want(b.get("/jobs"), 303, "/sign-up")
	b.want(b.get("/sign-up"), 200, "the operator's")
	for _, cookie := range b.want(b.signUp("ann@example.com"), 303, "/welcome").Cookies() {
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" || cookie.Secure || cookie.MaxAge <= 0 {
			t.Errorf("the cookie %+v", cookie)
		}
	}
	page := b.want(b.get("/welcome"), 200, "can't be shown again")
	key := keyPattern.FindString(page.body)
	if status := w.calls(key); status != 200 {
		t.Errorf("the key %q gets %d", key, status)
	}
	if strings.Count(page.body, key) < 5 {
		t.Error("the key is not filled in")
	}
	if again := b.get("/welcome"); strings.Contains(again.body, key) {
		t.Error("the key is shown twice")
	}
	b.want(b.get("/sign-up"), 303, "/")
	b.want(b.get("/sign-in"), 303, "/")
	b.want(w.browser().get("/sign-up"), 200, "Nobody can sign up here")
	b.want(w.browser().signUp("bob@example.com"), 403, "Nobody can sign up here")
	b.want(w.browser().get("/"), 303, "/sign-in")
}

func TestCookiesAreBoundToTheHostOverTLS(t *testing.T) {
	w := newSite(t, true)
	b := w.browser()
	cookies := b.signUp("ann@example.com").Cookies()
	if len(cookies) != 2 {
		t.Fatalf("%d cookies", len(cookies))
	}
	for _, cookie := range cookies {
		if !cookie.Secure || !cookie.HttpOnly || !strings.HasPrefix(cookie.Name, "__Host-") {
			t.Errorf("the cookie %+v", cookie)
		}
	}
	b.want(b.get("/settings"), 200, "ann@example.com")
}

func TestAProxyInFrontSpeaksTLSForTheService(t *testing.T) {
	w := newSite(t, false)
	b := w.browser()
	b.header.Set("X-Forwarded-Proto", "https")
	b.header.Set("Origin", "https://"+strings.TrimPrefix(w.url, "http://"))
	for _, cookie := range b.want(b.signUp("ann@example.com"), 303, "/welcome").Cookies() {
		if !cookie.Secure || !strings.HasPrefix(cookie.Name, "__Host-") {
			t.Errorf("the cookie %+v", cookie)
		}
	}
}

func TestSomeoneWhoSignsInGetsWhereTheyWanted(t *testing.T) {
	w := newSite(t, false)
	w.citizen()
	b := w.browser()
	b.want(b.get("/jobs?state=completed"), 303, "/sign-in?to=%2Fjobs%3Fstate%3Dcompleted")
	b.want(b.get("/sign-in?to=%2Fjobs%3Fstate%3Dcompleted"), 200, `value="/jobs?state=completed"`)
	b.want(b.post("/sign-in", "email", " ANN@example.com", "password", secretWords, "to", "/jobs?state=completed"), 303, "/jobs?state=completed")
	for _, elsewhere := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "javascript:alert(1)", "evil", "/\t/evil.example", "http:/evil"} {
		b := w.browser()
		b.want(b.post("/sign-in", "email", "ann@example.com", "password", secretWords, "to", elsewhere), 303, "/")
	}
	b.want(b.post("/sign-out"), 303, "/sign-in")
	b.want(b.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	b.header.Set("HX-Request", "true")
	if a := b.get("/welcome?part=live"); a.StatusCode != 204 || a.Header.Get("HX-Redirect") != "/sign-in" {
		t.Errorf("a part of a page: %d, %q", a.StatusCode, a.Header.Get("HX-Redirect"))
	}
}

func TestSigningInTellsNothingAndIsThrottled(t *testing.T) {
	w := newSite(t, false)
	w.citizen()
	wrong, unknown := w.browser().signIn("ann@example.com", "wrong"), w.browser().signIn("bob@example.com", "wrong")
	b := w.browser()
	b.want(wrong, 401, "The email or the password is wrong.")
	b.want(unknown, 401, "The email or the password is wrong.")
	if alike(wrong.body) != alike(strings.ReplaceAll(unknown.body, "bob@", "ann@")) {
		t.Errorf("the answers differ:\n%s\n%s", wrong.body, unknown.body)
	}
	for range 4 {
		b.want(b.signIn("ann@example.com", "wrong"), 401, "wrong")
	}
	if a := b.want(b.signIn("ann@example.com", secretWords), 429, "Too many attempts"); a.Header.Get("Retry-After") == "" {
		t.Error("it is not told when to try again")
	}
	w.pass(2 * time.Minute)
	b.want(b.signIn("ann@example.com", secretWords), 303, "/")
}

var changing = regexp.MustCompile(`data-now="[^"]*"`)

func alike(body string) string { return changing.ReplaceAllString(body, "") }

func TestSigningUpWhereAnyoneMayTellsNothing(t *testing.T) {
	w := newSite(t, false, signup(auth.SignupOpen))
	w.citizen()
	taken, fresh := w.browser().signUp("ann@example.com"), w.browser().signUp("bob@example.com")
	b := w.browser()
	b.want(taken, 200, "Sign in now")
	b.want(fresh, 200, "Sign in now")
	if alike(taken.body) != alike(strings.ReplaceAll(fresh.body, "bob@", "ann@")) {
		t.Errorf("the answers differ:\n%s\n%s", taken.body, fresh.body)
	}
	if len(taken.Cookies()) != 0 || len(fresh.Cookies()) != 0 {
		t.Error("the cookies differ, or are there at all")
	}
	// The newcomer signs in and gets on to the first steps.
	b.want(b.signIn("bob@example.com", secretWords), 303, "/welcome")
}

func TestAnInviteIsShownToTheOperatorAndLetsOneIn(t *testing.T) {
	w := newSite(t, false, signup(auth.SignupInvite))
	code, _, err := auth.CreateInvite(t.Context(), w.s, w.s.Now())
	if err != nil {
		t.Fatal(err)
	}
	first := w.browser()
	first.want(first.get("/sign-up?invite="+code), 200, `value="`+code+`"`)
	first.want(first.post("/sign-up", "email", "ann@example.com", "password", secretWords, "invite", "inv_x"), 422, "Invite is not known")
	first.want(first.post("/sign-up", "email", "ann@example.com", "password", secretWords, "invite", code), 303, "/welcome")
	page := first.want(first.post("/operator/invites"), 200, "/sign-up?invite=inv_")
	second := regexp.MustCompile(`inv_[0-9A-Za-z]{43}`).FindString(page.body)
	b := w.browser()
	b.want(b.post("/sign-up", "email", "bob@example.com", "password", secretWords, "invite", second), 303, "/welcome")
	b.want(b.get("/operator"), 404, "no page")
	b.want(b.post("/operator/invites"), 404, "no page")
}

func TestASessionEndsWhenItIsNotUsed(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	w.pass(13 * 24 * time.Hour)
	if cookies := b.want(b.get("/settings"), 200, "").Cookies(); len(cookies) == 0 || cookies[0].MaxAge != 14*24*3600 {
		t.Errorf("the cookie of a session in use is not prolonged: %v", cookies)
	}
	w.pass(13 * 24 * time.Hour)
	b.want(b.get("/settings"), 200, "")
	w.pass(14*24*time.Hour + time.Second)
	b.want(b.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	b.want(b.post("/settings/keys", "name", "late"), 303, "/sign-in")
}

func TestRequestsThatOtherSitesForgeChangeNothing(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	a, err := w.s.AccountGet(t.Context(), "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	keys, _ := w.s.KeyList(t.Context(), a.Number)
	for _, from := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": {"same-site"}, "Origin": {"https://evil.example"}},
		{"Sec-Fetch-Site": nil, "Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": nil, "Origin": {"null"}},
	} {
		b.header = from
		for _, path := range []string{"/sign-out", "/sign-in", "/sign-up", "/settings/keys", "/settings/keys/" + keys[0].ID.String() + "/revoke",
			"/settings/signing-secret", "/settings/password", "/settings/delete", "/welcome/key", "/welcome/send", "/operator/invites"} {
			b.want(b.post(path, "current", secretWords, "password", secretWords+" too", "name", "forged"), 403, "came from another site")
		}
	}
	b.header = http.Header{}
	b.want(b.get("/settings"), 200, "ann@example.com")
	after, err := w.s.AccountGet(t.Context(), "ann@example.com")
	left, _ := w.s.KeyList(t.Context(), a.Number)
	if err != nil || after.Password != a.Password || len(after.Secrets) != 1 || len(left) != 1 || !left[0].RevokedAt.IsZero() {
		t.Errorf("something has changed: %+v, %d keys", after, len(left))
	}
}

func TestKeysInTheSettings(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.get("/welcome")
	w.pass(time.Second)
	b.want(b.post("/settings/keys", "name", `<b>"billing"</b>`), 303, "/settings?done=key")
	page := b.want(b.get("/settings?done=key"), 200, "&lt;b&gt;&#34;billing&#34;&lt;/b&gt;")
	key := keyPattern.FindString(page.body)
	if w.calls(key) != 200 {
		t.Errorf("the key %q does not work", key)
	}
	if again := b.get("/settings"); strings.Contains(again.body, key) {
		t.Error("the key is shown twice")
	}
	revoke := regexp.MustCompile(`/settings/keys/[0-9a-f-]{36}/revoke`).FindString(page.body) // of the newest
	b.want(b.post(revoke), 303, "/settings?done=revoked")
	if w.calls(key) != 401 {
		t.Error("a revoked key works")
	}
	other := w.account("other@example.com")
	_, others, err := auth.CreateKey(t.Context(), w.s, other, "k", w.s.Now())
	if err != nil {
		t.Fatal(err)
	}
	b.want(b.post("/settings/keys/"+others.ID.String()+"/revoke"), 404, "no such key")
	b.want(b.post("/settings/keys/x/revoke"), 404, "no such key")
	b.want(b.post("/settings/keys", "name", "two\nlines"), 422, "must be at most 255 printable characters")
	for i := range 99 {
		w.pass(time.Millisecond)
		b.want(b.post("/settings/keys", "name", fmt.Sprintf("key %d %s", i, strings.Repeat("x", 200))), 303, "/settings?done=key")
	}
	b.want(b.post("/settings/keys", "name", "one too many"), 422, "as many keys as there may be")
	b.want(b.get("/settings?from=20"), 200, "Older")
	b.want(b.get("/settings?from=x"), 200, "key 98")
	b.want(b.get("/settings?from=9999"), 200, "Back to the newest")
}

func (w *site) account(email string) *store.Account {
	w.Helper()
	a, err := auth.CreateAccount(w.Context(), w.s, email, w.s.Now())
	if err != nil {
		w.Fatal(err)
	}
	return a
}

func TestTheSigningSecretInTheSettings(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	before := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(b.get("/settings").body)
	w.pass(time.Second)
	b.want(b.post("/settings/signing-secret"), 303, "/settings?done=rotated")
	page := b.want(b.get("/settings?done=rotated"), 200, "signs too for 24 hours")
	if first := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(page.body); first == before || !strings.Contains(page.body, before) {
		t.Error("the old secret does not stand behind a new one")
	}
	w.pass(25 * time.Hour)
	if strings.Contains(b.get("/settings").body, before) {
		t.Error("the old secret is shown after it has ended")
	}
}

func TestThePasswordInTheSettings(t *testing.T) {
	w := newSite(t, false)
	b, other := w.citizen(), w.browser()
	other.want(other.signIn("ann@example.com", secretWords), 303, "/")
	b.want(b.post("/settings/password", "current", "wrong", "password", "new "+secretWords), 422, "Current password is not your password")
	b.want(b.post("/settings/password", "current", secretWords, "password", "short"), 422, "New password must have at least 10 characters")
	other.want(other.get("/settings"), 200, "")
	b.want(b.post("/settings/password", "current", secretWords, "password", "new "+secretWords), 303, "/settings?done=password")
	b.want(b.get("/settings"), 200, "")
	other.want(other.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	other.want(other.signIn("ann@example.com", secretWords), 401, "wrong")
	other.want(other.signIn("ann@example.com", "new "+secretWords), 303, "/")
}

func TestADeletedAccountIsGone(t *testing.T) {
	w := newSite(t, false)
	b, other := w.citizen(), w.browser()
	key := keyPattern.FindString(b.get("/welcome").body)
	other.signIn("ann@example.com", secretWords)
	b.want(b.post("/settings/delete", "password", "wrong"), 422, "This is not your password")
	b.want(b.get("/settings"), 200, "")
	b.want(b.post("/settings/delete", "password", secretWords), 303, "/sign-in?done=deleted")
	b.want(b.get("/sign-in?done=deleted"), 200, "The account is deleted")
	for _, one := range []*browser{b, other} {
		one.want(one.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	}
	if w.calls(key) != 401 {
		t.Error("the key works")
	}
	b.want(b.signIn("ann@example.com", secretWords), 401, "wrong")
	b.want(b.signUp("eve@example.com"), 403, "Nobody can sign up here") // the door stays closed
}

func TestTheOperatorSeesSizesAndNoPayloads(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	a := w.account("other@example.com")
	for range 3 {
		if _, _, err := w.manager.Create(t.Context(), a.Owner,
			[]byte(`{"url":"https://example.com/secret-path","body":"secret-body","name":"secret-name","schedule_in":60}`), nil); err != nil {
			t.Fatal(err)
		}
	}
	page := b.want(b.get("/operator"), 200, "other@example.com")
	if strings.Contains(page.body, "secret-") {
		t.Error("the operator sees what jobs contain")
	}
	if !regexp.MustCompile(`data-label="Pending jobs">3<`).MatchString(page.body) {
		t.Errorf("the sizes are not told: %s", page.body)
	}
	for i := range 12 {
		w.account(fmt.Sprintf("user%d@example.com", i))
	}
	next := regexp.MustCompile(`/operator\?after=\d+`).FindString(b.get("/operator").body)
	b.want(b.get(next), 200, "user11@example.com")
	if err := w.s.AccountOperator(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	b.want(b.get("/operator"), 404, "no page")
}

func TestAMessageArrivesAtThePageThatAskedForIt(t *testing.T) {
	w := newSite(t, true)
	b := w.citizen()
	page := b.want(b.get("/welcome"), 200, w.url+"/api/broadcast")
	channel := regexp.MustCompile(`page-[0-9a-f]{16}`).FindString(page.body)
	if channel == "" {
		t.Fatalf("no channel on the page: %s", page.body)
	}
	stream, lines := b.listen("/welcome/events")
	defer stream()
	send := func(channel, content string) {
		t.Helper()
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/api/broadcast", strings.NewReader(`{"content":"`+content+`","author":"me","channel":"`+channel+`"}`))
		request.Header.Set("X-Punctual-Scheduled-At", job.FormatTime(w.clock().Add(-2*time.Millisecond)))
		request.Header.Set("X-Punctual-Job-Id", "77")
		response, err := w.tls.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != 200 || string(body) != `{"content":"`+content+`","author":"me","channel":"`+channel+`"}` {
			t.Errorf("the call answers %d, %s", response.StatusCode, body)
		}
	}
	send("page-0000000000000000", "for somebody else")
	send(channel, "<i>hello</i>")
	for line := range lines {
		if line == "event: message" {
			break
		}
	}
	part := b.want(b.get("/welcome?part=live"), 200, "me: &lt;i&gt;hello&lt;/i&gt; (from job 77)")
	b.want(part, 200, "2.0 ms after it was due")
	if strings.Contains(part.body, "somebody else") || strings.Contains(part.body, "<html") {
		t.Errorf("the part is %s", part.body)
	}
}

// listen opens an event stream and gives its lines.
func (b *browser) listen(path string) (stop func(), lines <-chan string) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	response, err := b.client.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); response.StatusCode != 200 || got != "text/event-stream" {
		b.Fatalf("the stream answers %d, %q", response.StatusCode, got)
	}
	read := make(chan string, 100)
	go func() {
		defer close(read)
		defer func() { _ = response.Body.Close() }()
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			read <- scanner.Text()
		}
	}()
	// The first line says that the page is being watched.
	<-read
	return cancel, read
}

func TestTheFirstJobIsMadeForWhoHasNoTerminal(t *testing.T) {
	w := newSite(t, true)
	b := w.citizen()
	stream, lines := b.listen("/welcome/events")
	defer stream()
	b.want(b.post("/welcome/send"), 303, "/welcome?done=sent")
	for line := range lines {
		if line == "event: job" {
			break
		}
	}
	b.want(b.get("/welcome?done=sent"), 200, "due in ten seconds")
	a, _ := w.s.AccountGet(t.Context(), "ann@example.com")
	jobs, err := w.s.JobList(t.Context(), a.Owner, store.JobQuery{ListQuery: store.ListQuery{Limit: 10}})
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	if spec := job.ReadSpec(jobs[0].Args); spec.URL != w.url+"/api/broadcast" || jobs[0].ScheduledAt.Sub(w.clock()) != 10*time.Second {
		t.Errorf("the job is sent to %s at %s", spec.URL, jobs[0].ScheduledAt)
	}
}

func TestThePageSaysPlainlyWhatAppliesHere(t *testing.T) {
	plain := newSite(t, false)
	b := plain.citizen()
	b.want(b.get("/welcome"), 200, "jobs are sent to https addresses only")
	b.want(b.get("/welcome"), 200, "--allow-private-targets")
	b.want(b.post("/welcome/send"), 303, "/welcome?done=sent")
	b.want(b.get("/welcome?part=live"), 200, "Due")
}

func TestAPrivateAddressIsSaidToBeOne(t *testing.T) {
	w := newSite(t, true, func(c *Config, _ *auth.PeopleConfig) {
		c.Manager.CheckHost = func(host string) string {
			if host == "127.0.0.1" {
				return "must not be a loopback address"
			}
			return ""
		}
	})
	b := w.citizen()
	b.want(b.get("/welcome"), 200, "is a private address")
	b.want(b.get("/welcome"), 200, "https://example.com/")
}
