package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// wantAll is want for a page that shows several texts.
func (b *browser) wantAll(page *result, texts ...string) *result {
	b.Helper()
	for _, text := range texts {
		b.want(page, 200, text)
	}
	return page
}

func TestUsage_ShowsWhatIsUsedAndWhatHappensAtTheLimit(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.get("/welcome") // creates the first key
	b.wantAll(b.get("/settings/usage"), "Pending jobs", "0, no limit", "The operator has set no limit", "No further key can be created",
		"1 of 100")
	account := "/operator/accounts/1"
	b.want(b.post(account+"/limits", "max_pending", "2", "max_schedules", "1000", "max_stored", "1MiB", "rate_limit", "50"), 303,
		"/operator/accounts/1?done=limited")
	w.pass(5 * time.Second)
	page := b.wantAll(b.get("/settings/usage"), "0 of 2", "0 of 1,000", "of 1 MiB", "0 now of 50 in 1 second",
		"get a 429 until you delete one", "30 days")
	if strings.Contains(page.body, "limit reached") {
		t.Error("a limit is said to be reached")
	}
	for n := range 2 {
		b.want(b.post("/jobs", "url", "https://example.com/", "method", "post", "body_kind", "json", "when", "in 3 days", "zone", "UTC"),
			303, fmt.Sprintf("/jobs/%d?done=created", n+1))
	}
	b.wantAll(b.get("/settings/usage"), "2 of 2", "limit reached", `value="100"`)
	b.want(w.browser().get("/settings/usage"), 303, "/sign-in?to=%2Fsettings%2Fusage")
}

func TestPercentOf_IsFullOnlyAtTheLimit(t *testing.T) {
	for _, x := range []struct {
		n, limit int64
		want     int
	}{{0, 10, 0}, {-1, 10, 0}, {1, 10, 10}, {999, 1000, 99}, {9999, 10000, 99}, {10, 10, 100}, {11, 10, 100}, {1 << 62, 1<<62 + 1, 99}} {
		if got := percentOf(x.n, x.limit); got != x.want {
			t.Errorf("%d of %d is %d %%, want %d", x.n, x.limit, got, x.want)
		}
	}
}

func TestAudit_FiltersByEvent(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.get("/welcome") // creates the first key
	b.wantAll(b.get("/settings/audit"), "Key created", "Account created", `value="key.created"`)
	page := b.wantAll(b.get("/settings/audit?event=account.created"), "Account created", `selected`, "Clear")
	if n := strings.Count(page.body, "<tr>"); n != 2 {
		t.Errorf("the page has %d rows, want the heading and one entry", n)
	}
	b.want(b.get("/settings/audit?event=key.revoked"), 200, "No entry of this event")
	b.want(b.get("/settings/audit?event=x"), 422, "Event must be one of those listed")
	b.wantAll(b.get("/operator/audit?event=invite.created"), "No entry of this event", "operator")
}
