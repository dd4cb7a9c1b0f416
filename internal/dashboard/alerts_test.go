package dashboard

import (
	"context"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/alert/consent"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/store"
)

// noWatcher tracks no alerts.
type noWatcher struct{}

func (noWatcher) Refresh(context.Context) error                                      { return nil }
func (noWatcher) Changed()                                                           {}
func (noWatcher) TakeMails(_ context.Context, _ int64, n int) (taken int, err error) { return n, nil }

// receiver receives the tests of alerts.
type receiver struct{ got atomic.Int64 }

func (r *receiver) SendNow(_ context.Context, _ *job.Delivery, _ time.Duration) job.Outcome {
	r.got.Add(1)
	return job.Outcome{Response: &job.Response{Status: 204}, Duration: 30 * time.Millisecond}
}

func TestAlerts_SaveTestAndDelete(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.get("/alerts"), 200, "No alerts yet")
	b.want(b.post("/alerts", "name", "billing", "on", "failed", "after", "3", "late_by", "5 minutes", "tags", "billing, eu", "webhook",
		"https://example.com/alerts?token=hunter2"), 303, "/alerts?done=alertcreated")
	list := b.want(b.get("/alerts"), 200, "jobs tagged billing and eu")
	b.want(list, 200, "example.com")
	if strings.Contains(list.body, "hunter2") {
		t.Error("the list shows the address of a webhook")
	}
	if strings.Contains(list.body, "open for") {
		t.Error("an alert that has reported nothing is open")
	}
	form := b.want(b.get("/alerts?name=billing"), 200, "hunter2").inputs("/alerts")
	if got := form.Get("late_by") + "|" + form.Get("after") + "|" + form.Get("tags") + "|" +
		strings.Join(form["on"], ","); got != "5 minutes|3|billing eu|failed" {
		t.Errorf("the form has %s", got)
	}
	form.Set("slack", "https://hooks.example.com/x")
	b.want(b.do("POST", "/alerts", form), 303, "/alerts?done=alertchanged")
	b.want(b.get("/alerts"), 200, "example.com, Slack")
	b.want(b.post("/alerts/billing/test"), 200, "Test of billing")
	if got := w.receiver.got.Load(); got != 2 {
		t.Errorf("%d receivers got the test", got)
	}
	for _, c := range [][2]string{
		{"name=bad name&on=failed&webhook=https://example.com", "Name must be 1 to 64"},
		{"name=x&on=odd&webhook=https://example.com", "Reports entry 1 must be one of"},
		{"name=x&on=failed", "Receivers: must"},
		{"name=x&on=failed&webhook=ftp://example.com", "Webhooks must"},
		{"name=x&on=failed&webhook=https://example.com&slack=nothing", "Slack must"},
		{"name=x&on=failed&email=ann@example.com", "E-mail can&#39;t be used"},
		{"name=x&on=failed&webhook=https://example.com&after=0", "Failures in a row must"},
		{"name=x&on=failed&webhook=https://example.com&schedule_id=7", "Schedule must be"},
		{"name=x&on=failed&webhook=https://example.com&remind_every=odd", "Remind every must"},
	} {
		var fields []string
		for _, pair := range strings.Split(c[0], "&") {
			name, value, _ := strings.Cut(pair, "=")
			fields = append(fields, name, value)
		}
		b.want(b.post("/alerts", fields...), 422, c[1])
	}
	b.want(b.post("/alerts/billing/delete"), 303, "/alerts?done=alertdeleted")
	b.want(b.post("/alerts/billing/test"), 404, "no such alert")
}

// mails keeps the texts of the e-mails that are sent, by address.
type mails struct {
	mu   sync.Mutex
	sent map[string]string
}

func (m *mails) Send(_ context.Context, to, _ string, letter notify.Letter) job.Outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent[to] = letter.Text
	return job.Outcome{Response: &job.Response{Status: 250}}
}

// asking has the recipients of all accounts confirm.
func asking(m *mails) siteOption {
	return func(config *Config, people *auth.PeopleConfig) {
		account := config.Auth.Account
		config.Alerts.Checks.Mail = true
		config.Alerts.Consent = consent.New(consent.Config{
			Store: config.Alerts.Store.(store.Store), Mail: m, PublicURL: &url.URL{Scheme: "https", Host: "punctual.example.com"},
			Log: slog.New(slog.DiscardHandler),
			Account: func(ctx context.Context, number int64) (*identity.Account, error) {
				a, err := account(ctx, number)
				if err != nil {
					return nil, err
				}
				strange := *a
				strange.Origin, strange.Operator = identity.OriginOpen, false
				return &strange, nil
			},
		})
	}
}

var consentLink = regexp.MustCompile(consent.Path + `[\w-]{43}`)

// Addresses of webhooks may be credentials: who only reads must not see them.
func TestAlerts_ShowViewersNoCredentials(t *testing.T) {
	w := newSite(t, false)
	ann := w.citizen()
	account := w.owner("ann@example.com")
	viewer, editor := w.joins(account, "vic@example.com", identity.RoleViewer), w.joins(account, "edd@example.com", identity.RoleEditor)
	ann.want(ann.post("/alerts", "name", "ops", "on", "failed", "webhook", "https://example.com/hunter2", "slack",
		"https://hooks.example.com/hunter2", "pagerduty", "R0123456789hunter2000"), 303, "/alerts?done=alertcreated")
	form := viewer.want(viewer.get("/alerts?name=ops"), 200, "ops").inputs("/alerts")
	if got := form.Get("webhook") + "|" + form.Get("slack") + "|" + form.Get("pagerduty"); got != "example.com|Slack|PagerDuty" {
		t.Errorf("a viewer's form has %s", got)
	}
	if got := editor.want(editor.get("/alerts?name=ops"), 200, "ops").inputs("/alerts").Get("pagerduty"); got != "R0123456789hunter2000" {
		t.Errorf("an editor's form has %s", got)
	}

	one := w.create(account, `{"url":"https://example.com/","schedule_in":3600}`)
	failed := w.logs(one, job.EventAlertFailed,
		`{"url":"https://hooks.example.com/hunter2","type":"job.failed","attempts":8,"response":null,"error":null}`)
	page := "/logs/" + failed[0].ID.String()
	for _, x := range []struct {
		of    *browser
		path  string
		shows bool
	}{
		{viewer, page, false}, {viewer, page + "?reveal=true", false}, {editor, page, false}, {editor, page + "?reveal=true", true},
		{ann, "/try/api/logs", false}, {ann, "/try/api/logs/" + failed[0].ID.String(), false},
	} {
		x.of.header.Set(tryHeader, "1")
		a := x.of.want(x.of.get(x.path), 200, "https://hooks.example.com/")
		if strings.Contains(a.body, "hunter2") != x.shows {
			t.Errorf("GET %s: the credential is there: %v, want %v", x.path, !x.shows, x.shows)
		}
	}
}

func TestAlerts_ShowWhichRecipientsGetNothing(t *testing.T) {
	m := &mails{sent: map[string]string{}}
	w := newSite(t, false, asking(m))
	b := w.citizen()
	b.want(b.post("/alerts", "name", "billing", "on", "failed", "webhook", "https://example.com", "email",
		"a@example.net b@example.net c@example.net d@example.net e@example.net f@example.net"), 303, "/alerts?done=alertcreated")
	list := b.get("/alerts")
	for _, note := range []string{"a@example.net: waiting for confirmation", "e@example.net: waiting for confirmation",
		"f@example.net: not asked to confirm yet"} {
		b.want(list, 200, note)
	}
	if n := strings.Count(list.body, "waiting for confirmation"); n != 5 {
		t.Errorf("%d recipients wait, want 5", n)
	}

	// The page of the link works for who is not signed in, and changes nothing by itself.
	ann, link := w.browser(), consentLink.FindString(m.sent["a@example.net"])
	page := ann.want(ann.get(link), 200, "The account ann@example.com of")
	for _, text := range []string{"asks to send alerts to a@example.net", "Send me these alerts", "Never send me e-mails again"} {
		ann.want(page, 200, text)
	}
	b.want(b.get("/alerts"), 200, "a@example.net: waiting")
	ann.want(ann.post(link, "answer", "odd"), 422, "Choose one of the buttons")
	ann.want(ann.post(link, "answer", "confirm"), 303, link+"?done=mailconfirmed")
	page = ann.want(ann.get(link+"?done=mailconfirmed"), 200, "You get these alerts from now on.")
	if strings.Contains(page.body, "Send me these alerts") {
		t.Error("who has confirmed is asked to confirm")
	}
	refusing := consentLink.FindString(m.sent["b@example.net"])
	ann.want(ann.post(refusing, "answer", "refuse"), 303, refusing+"?done=mailrefused")
	page = ann.want(ann.get(refusing), 200, "This service sends no e-mails to b@example.net")
	if strings.Contains(page.body, "Never send me") {
		t.Error("who has refused is asked to refuse")
	}
	list = b.want(b.get("/alerts"), 200, "b@example.net: refuses e-mails")
	if strings.Contains(list.body, "a@example.net:") {
		t.Error("the list has a note on who has confirmed")
	}
	for _, path := range []string{link[:len(link)-1] + "_", consent.Path + "x"} {
		ann.want(ann.get(path), 404, "This link is not known")
		ann.want(ann.post(path, "answer", "confirm"), 404, "This link is not known")
	}
}
