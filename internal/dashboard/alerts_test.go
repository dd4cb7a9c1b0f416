package dashboard

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// noWatcher tracks no alerts.
type noWatcher struct{}

func (noWatcher) Refresh(context.Context) error                                      { return nil }
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
	b.want(b.post("/alerts", "name", "billing", "on", "failed", "after", "3", "late_by", "5 minutes", "tags", "billing, eu", "webhook", "https://example.com/alerts?token=hunter2"), 303, "/alerts?done=alertcreated")
	list := b.want(b.get("/alerts"), 200, "failed; jobs tagged billing and eu")
	b.want(list, 200, "example.com")
	if strings.Contains(list.body, "hunter2") {
		t.Error("the list shows the address of a webhook")
	}
	form := b.want(b.get("/alerts?name=billing"), 200, "hunter2").inputs("/alerts")
	if got := form.Get("late_by") + "|" + form.Get("after") + "|" + form.Get("tags") + "|" + strings.Join(form["on"], ","); got != "5 minutes|3|billing eu|failed" {
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
