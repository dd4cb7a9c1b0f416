package dashboard

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/broadcast"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/eventstream"
	"github.com/punctual-dev/punctual/internal/httpapi"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/sqlitetest"
)

// site is a dashboard with its API on a real store, and a clock that tests move.
type site struct {
	*testing.T
	s    store.Store
	auth *auth.Authenticator
	url  string

	service  *service.Service
	tls      *http.Client // trusts the site
	mu       sync.Mutex
	now      time.Time
	people   *auth.People
	members  *auth.Members
	receiver receiver
}

// noon is a time at which forms are checked.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type siteOption func(*Config, *auth.PeopleConfig)

func newSite(t *testing.T, secure bool, options ...siteOption) *site {
	t.Helper()
	t.Parallel()
	w := &site{T: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	var err error
	s := sqlitetest.Open(t, w.clock)
	w.s = s
	log, measures := slog.New(slog.DiscardHandler), metrics.New("test")
	recorded := audit.New(s, s.Now, log)
	if w.auth, err = auth.New(t.Context(), auth.Config{Store: s, Now: s.Now, Log: log, Audit: recorded}); err != nil {
		t.Fatal(err)
	}
	people := auth.PeopleConfig{Store: s, Now: s.Now, Forget: w.auth.Forget, Log: log, Pace: time.Millisecond, Audit: recorded}
	events := eventstream.New(eventstream.Config{Store: s, Log: log})
	book := quota.NewBook(quota.Config{Store: s, Account: w.auth.Account, Now: s.Now, Log: log})
	t.Cleanup(book.Close)
	vault := secret.New(secret.Config{Records: s, Now: s.Now, Audit: recorded})
	t.Cleanup(vault.Close)
	config := Config{
		Secrets: vault,
		Alerts: service.NewAlerts(service.AlertsConfig{Store: s, Watcher: noWatcher{}, Sender: &w.receiver, Audit: recorded,
			Retention: 30 * 24 * time.Hour}),
		Service: service.New(service.Config{Store: s, Operations: s, Engine: idle{}, Metrics: measures, Listener: events, Quotas: book,
			Secrets: vault, Audit: recorded}), Auth: w.auth,
		Quotas: book, Rates: edge.NewRates(0, measures),
		Broadcasts: broadcast.New(s.Now), Events: events, Log: log, Audit: recorded,
		Stats: stats.New(stats.Config{Store: s, Now: s.Now, Log: log}), Version: "test", Retention: 30 * 24 * time.Hour,
	}
	for _, o := range options {
		o(&config, &people)
	}
	w.people = auth.NewPeople(people)
	w.members = auth.NewMembers(auth.MembersConfig{Store: s, Now: s.Now, Log: log, Audit: recorded})
	config.People, config.Members, w.service = w.people, w.members, config.Service
	api := httpapi.New(httpapi.Config{
		Service: config.Service, Auth: w.auth, Audit: recorded, Metrics: measures, Broadcasts: config.Broadcasts, Log: log,
		Stats: config.Stats, Running: func() bool { return true }, Quotas: config.Quotas, Rates: config.Rates,
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
		config.Service.Close()
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

// result is a response with its body.
type result struct {
	*http.Response
	body string
}

func (b *browser) do(method, path string, form url.Values) *result {
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
	return &result{response, string(body)}
}

func (b *browser) get(path string) *result { b.Helper(); return b.do(http.MethodGet, path, nil) }

func (b *browser) post(path string, fields ...string) *result {
	b.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.do(http.MethodPost, path, form)
}

// want verifies the status of a result, and its Location or that its body contains
// a text.
func (b *browser) want(a *result, status int, text string) *result {
	b.Helper()
	at := a.Request.Method + " " + a.Request.URL.Path
	shown := a.body
	if _, main, ok := strings.Cut(a.body, "<main"); ok {
		shown = main
	}
	switch {
	case a.StatusCode != status:
		b.Errorf("%s: status %d, want %d: %.600s", at, a.StatusCode, status, shown)
	case status == http.StatusSeeOther:
		if got := a.Header.Get("Location"); got != text {
			b.Errorf("%s redirects to %q, want %q", at, got, text)
		}
	case !strings.Contains(a.body, text):
		b.Errorf("%s does not contain %q: %.2000s", at, text, shown)
	}
	return a
}

const secretWords = "correct horse battery"

func (b *browser) signUp(email string) *result {
	b.Helper()
	code, err := b.people.SetupCode(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return b.post("/sign-up", "email", email, "password", secretWords, "setup", code)
}

func (b *browser) signIn(email, password string) *result {
	b.Helper()
	return b.post("/sign-in", "email", email, "password", password)
}

// citizen returns the signed-in browser of the first account.
func (w *site) citizen() *browser {
	w.Helper()
	b := w.browser()
	b.want(b.signUp("ann@example.com"), 303, "/welcome")
	return b
}

var keyPattern = regexp.MustCompile(`sk_[0-9A-Za-z]{43}`)

// calls makes an API call with a key and returns its status.
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
