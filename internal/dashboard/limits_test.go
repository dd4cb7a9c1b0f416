package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/quota"
)

func limits(anonymous quota.Rate, defaults quota.Defaults) siteOption {
	return func(c *Config, _ *auth.PeopleConfig) {
		c.Rates, c.Quotas.Defaults = edge.NewRates(anonymous, metrics.New("test")), defaults
	}
}

// until requests a page until a request is refused, and returns how many were
// accepted.
func (b *browser) until(refused int, ask func() *result) (accepted int) {
	b.Helper()
	for range 500 {
		a := ask()
		if a.StatusCode == refused {
			if a.Header.Get("Retry-After") == "" {
				b.Error("a refusal does not say when to try again")
			}
			b.want(a, refused, "You sent too many requests. Wait a few seconds, then load this page again.")
			return accepted
		}
		accepted++
	}
	b.Fatal("500 requests were accepted through")
	return accepted
}

func TestLimits_CountUnknownClientsByNetwork(t *testing.T) {
	w := newSite(t, false, limits(6, quota.Defaults{}))
	b := w.citizen()
	b.want(b.get("/"), 200, "")
	stranger := w.browser()
	stranger.until(429, func() *result { return stranger.get("/sign-in") })
	stranger.until(429, func() *result { return stranger.post("/sign-in", "email", "x", "password", "y") })
	stranger.until(429, func() *result { return stranger.get("/no/such/page") })
	stranger.header.Set("Cookie", "punctual-session=guess")
	stranger.until(429, func() *result { return stranger.get("/jobs") })
	b.want(b.get("/jobs"), 200, "") // a person who is signed in goes on
}

func TestLimits_CountPagesByAccount(t *testing.T) {
	w := newSite(t, false, limits(0, quota.Defaults{Rate: 0.5}))
	b := w.citizen()
	if let := b.until(429, func() *result { return b.get("/settings") }); let < 10 {
		t.Errorf("only %d pages were shown: the API's rate must not lock people out", let)
	}
}

func TestLimits_ShowTheFormAgain(t *testing.T) {
	one := int64(1)
	w := newSite(t, false, limits(0, quota.Defaults{Pending: &one}))
	b := w.citizen()
	form := []string{"url", "https://example.com/hook", "method", "post", "body_kind", "json", "when", "in 3 days", "zone", "UTC", "name",
		"my job"}
	b.want(b.post("/jobs", form...), 303, "/jobs/1?done=created")
	page := b.want(b.post("/jobs", form...), 429, "The account has reached its limit of 1 unfinished one-off jobs (max-pending)")
	if page.Header.Get("Retry-After") != "60" || !strings.Contains(page.body, "my job") {
		t.Errorf("the form is not shown again, after %q", page.Header.Get("Retry-After"))
	}
	b.want(b.get("/settings/usage"), 200, "1 of 1")
}

func TestOperator_ChangesTheLimitsOfAnAccount(t *testing.T) {
	w := newSite(t, false, limits(0, quota.Defaults{Rate: 100}))
	b := w.citizen()
	other := w.account("other@example.com")
	path := fmt.Sprintf("/operator/accounts/%d", other.Number)
	b.want(b.get("/operator"), 200, path)
	b.want(b.get(path), 200, "100 calls a second")
	b.want(b.post(path+"/limits", "max_pending", "12", "max_schedules", "0", "max_stored", "1500KB", "rate_limit", "2.5"), 303,
		path+"?done=limited")
	page := b.get(path + "?done=limited")
	for _, says := range []string{"2.5 calls a second", "0 of 12", "1500 KB", `value="12"`, `value="1500KB"`, `value="0"`} {
		b.want(page, 200, says)
	}
	refused := b.post(path+"/limits", "max_pending", "many", "max_stored", "1XB", "rate_limit", "-1")
	for _, says := range []string{"must be a whole number", "must be a size like 100MB", "must be a number of calls", `value="many"`} {
		b.want(refused, 422, says)
	}
	b.want(b.post(path+"/limits"), 303, path+"?done=limited")
	b.want(b.get(path), 200, "100 calls a second")
	for _, nobody := range []string{"/operator/accounts/99", "/operator/accounts/x", "/operator/accounts/99999999999999999999"} {
		b.want(b.get(nobody), 404, "no such account")
		b.want(b.post(nobody+"/limits"), 404, "no such account")
		b.want(b.post(nobody+"/suspend"), 404, "no such account")
	}
}

func TestSuspendedAccount_CanReadButNotChange(t *testing.T) {
	w := newSite(t, false, signup(auth.SignupOpen))
	operator, other := w.citizen(), w.browser()
	operator.want(operator.get("/operator/accounts/1"), 200, "You can't suspend it")
	operator.want(operator.post("/operator/accounts/1/suspend"), 422, "You can&#39;t suspend the account that you are signed in to")
	other.signUp("other@example.com")
	other.want(other.signIn("other@example.com", secretWords), 303, "/welcome")
	key := keyPattern.FindString(other.get("/welcome").body)
	a, err := w.s.AccountGet(t.Context(), "other@example.com")
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/operator/accounts/%d", a.Number)
	operator.want(operator.post(path+"/suspend", "reason", strings.Repeat("x", 201)), 422,
		"The reason must be at most 200 printable characters")
	operator.want(operator.post(path+"/suspend", "reason", "<spam>"), 303, path+"?done=suspended")
	operator.want(operator.get(path), 200, "&lt;spam&gt;")
	operator.want(operator.get("/operator"), 200, "suspended")
	if status := w.calls(key); status != 403 {
		t.Errorf("its key gets status %d", status)
	}
	other.want(other.get("/settings"), 200, "This account is suspended (&lt;spam&gt;)")
	other.want(other.get("/jobs"), 200, "")
	for _, form := range []string{"/jobs", "/settings/keys", "/settings/delete", "/settings/signing-secret"} {
		other.want(other.post(form), 403, "This account is suspended (&lt;spam&gt;)")
	}
	other.want(other.post("/jobs/preview", "url", "x"), 200, "")
	other.want(other.post("/jobs/1/when/preview", "when", "in an hour"), 404, "no such job")
	other.want(other.post("/sign-out"), 303, "/sign-in")
	other.want(other.signIn("other@example.com", secretWords), 303, "/")
	operator.want(operator.post(path+"/resume"), 303, path+"?done=resumed")
	operator.want(operator.post(path+"/resume"), 303, path+"?done=resumed") // changes nothing
	operator.want(operator.post(path+"/limits", "max_pending", "12"), 303, path+"?done=limited")
	w.pass(2 * time.Second)
	if status := w.calls(key); status != 200 {
		t.Errorf("after it was resumed its key gets status %d", status)
	}
	other.want(other.post("/settings/keys", "name", "x"), 303, "/settings?done=key")
	other.want(other.get("/operator/accounts/1"), 404, "no page")
	other.want(other.post(path+"/limits"), 404, "no page")
	// The owner learns what was done, and only operators which of them did it.
	wantAudits(t, w, a.Number, "account.limited|operator||max-pending 12", "account.resumed|operator||",
		"account.suspended|operator||<spam>")
	wantAudits(t, w, 0, "account.limited|operator|ann@example.com|other@example.com: max-pending 12",
		"account.resumed|operator|ann@example.com|other@example.com",
		"account.suspended|operator|ann@example.com|other@example.com: <spam>")
}

func TestSuspendedAccount_OfThePublicKeyCanNotBeChanged(t *testing.T) {
	w := newSite(t, false, public)
	account, err := auth.PublicAccount(t.Context(), w.s, w.s.Now())
	if err != nil {
		t.Fatal(err)
	}
	j := w.create(account.Owner, `{"url":"https://example.com","schedule_in":60}`)
	if err := w.s.AccountSuspend(t.Context(), account.Number, w.s.Now(), "spam"); err != nil {
		t.Fatal(err)
	}
	w.pass(2 * time.Second) // accounts are cached for a second
	b := w.browser()
	b.want(b.get("/public/jobs/1"), 200, "")
	b.want(b.post("/public/jobs/1/cancel"), 403, "This account is suspended (spam)")
	if found, err := w.s.JobGet(t.Context(), account.Owner, job.Ref{Number: j.Number}); err != nil || found.State.Final() {
		t.Errorf("the job is %+v, %v", found, err)
	}
}

// wantAudits checks what operators did to an account, in order of event; account 0
// is the service.
func wantAudits(t *testing.T, w *site, account int64, want ...string) {
	t.Helper()
	entries, err := w.s.AuditList(t.Context(), account, "", uuid.Nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.ActorKind == audit.ByOperator {
			got = append(got, strings.Join([]string{e.Event, e.ActorKind, e.ActorName, e.Detail}, "|"))
		}
	}
	slices.Sort(got) // the clock of the test stands still
	if !slices.Equal(got, want) {
		t.Errorf("the audit log of %d has %q, want %q", account, got, want)
	}
}

// A form that needs no session is refused when it is larger than an email, a
// password and codes can be; others may carry a job's body.
func TestLimits_FormsWithoutASessionAreSmall(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	stranger := w.browser()
	for _, path := range []string{"/sign-in", "/sign-up"} {
		large := stranger.post(path, "email", strings.Repeat("e", 17<<10)+"@example.com", "password", secretWords)
		stranger.want(large, 413, "larger than 16 KiB")
	}
	stranger.want(stranger.post("/sign-in", "email", strings.Repeat("e", 1000)+"@example.com", "password", secretWords), 401,
		"The email or the password is wrong.")
	if a := b.post("/jobs/preview", "body", strings.Repeat("b", 17<<10)); a.StatusCode == 413 {
		b.Error("a job's form of 17 KiB is too large")
	}
}
