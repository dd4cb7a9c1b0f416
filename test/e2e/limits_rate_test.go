package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// exhaust calls until a call is refused, and returns how many succeeded and the
// refusal.
func exhaust(t *testing.T, call func() *harness.Answer) (let int, refusal *harness.Answer) {
	t.Helper()
	for range 2000 {
		a := call()
		if a.Status == http.StatusTooManyRequests {
			if n, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || n < 1 {
				t.Errorf("a refusal says Retry-After: %q", a.Header.Get("Retry-After"))
			}
			return let, a
		}
		let++
	}
	t.Fatal("2,000 calls were let through")
	return let, nil
}

// wantLimit fails the test unless the headers state the limit and what is left.
func wantLimit(t *testing.T, a *harness.Answer, policy, limit string) {
	t.Helper()
	if got := a.Header.Get("RateLimit-Policy"); got != policy {
		t.Errorf("RateLimit-Policy is %s, want %s", got, policy)
	}
	if got := a.Header.Get("RateLimit"); !regexp.MustCompile(limit).MatchString(got) {
		t.Errorf("RateLimit is %s, want a match of %s", got, limit)
	}
}

func TestLimitRate_CountsCallsByAccount(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("rate-limit", "4"))
	a, b := s.Account(t), s.Account(t)
	_, second := s.NewKey(t, a.Email)
	first := a.Get("/api/jobs").Want(200)
	wantLimit(t, first, `"account";q=4;w=1`, `^"account";r=3;t=1$`)
	let, refusal := exhaust(t, func() *harness.Answer { return a.Get("/api/jobs?limit=1") })
	if let < 3 {
		t.Errorf("only %d calls were let through", let+1)
	}
	refusal.WantProblem(429)
	wantLimit(t, refusal, `"account";q=4;w=1`, `^"account";r=0;t=1$`)
	exhaust(t, func() *harness.Answer { return s.Client(t, second).Get("/api/jobs") }) // keys share the account's rate
	if let, _ := exhaust(t, func() *harness.Answer { return b.Get("/api/jobs") }); let < 4 {
		t.Errorf("another account got %d calls", let)
	}
	harness.Eventually(t, soon, "calls to be allowed again", func() bool { return a.Get("/api/jobs").Status == 200 })
	// One account's overload does not affect others.
	for _, path := range []string{"/api/ping", "/healthz", "/docs"} {
		s.Client(t, "").Get(path).Want(200)
	}
}

func TestLimitRate_CountsEachItemAsACall(t *testing.T) {
	t.Parallel()
	a := harness.Start(t, harness.Flag("rate-limit", "3")).Account(t)
	var ids string
	for range 3 {
		harness.Eventually(t, soon, "a create", func() bool {
			made := a.Post("/api/jobs", waiting)
			if made.Status == 201 {
				ids += "," + made.Data().Get("job_id").Raw()
			}
			return made.Status == 201
		})
	}
	var last *harness.Answer
	harness.Eventually(t, soon, "a call for three items", func() bool {
		last = a.Post("/api/jobs/cancel", `{"job_ids":[`+ids[1:]+`]}`)
		return last.Status == 200
	})
	wantLimit(t, last, `"account";q=3;w=1`, `^"account";r=0;`)
}

func TestLimitRate_CountsCallsWithoutAKeyByAddress(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("anonymous-rate-limit", "5"))
	a := s.Account(t)
	if got := a.Get("/api/jobs").Want(200).Header.Get("RateLimit"); got != "" {
		t.Errorf("a call with a key is counted by address: %s", got)
	}
	nobody := s.Client(t, "")
	wantLimit(t, nobody.Get("/api/ping").Want(200), `"address";q=5;w=1`, `^"address";r=4;t=1$`)
	calls := map[string]func() *harness.Answer{
		"open":          func() *harness.Answer { return nobody.Post("/api/echo", `{}`) },
		"without a key": func() *harness.Answer { return nobody.Get("/api/jobs") },
		"a bad key":     func() *harness.Answer { return s.Client(t, "sk_wrong").Get("/api/jobs") },
		"no such path":  func() *harness.Answer { return nobody.Get("/api/nothing") },
		"a page":        func() *harness.Answer { return page(t, s, "/sign-in") },
	}
	for name, call := range calls {
		if _, refusal := exhaust(t, call); refusal.Header.Get("RateLimit-Policy") != `"address";q=5;w=1` {
			t.Errorf("%s: RateLimit-Policy is %q", name, refusal.Header.Get("RateLimit-Policy"))
		}
	}
	exhaust(t, calls["open"])
	a.Get("/api/jobs").Want(200) // a key that was valid before is looked up all the same
	awaitReady(t, s)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if got := nobody.Get(path).Want(200).Header.Get("RateLimit"); got != "" {
			t.Errorf("%s is counted: %s", path, got)
		}
	}
}

// page requests a page as a browser does.
func page(t *testing.T, s *harness.Service, path string) *harness.Answer {
	t.Helper()
	a, _, err := s.Client(t, "").Probe(http.MethodGet, path, nil, harness.Header("Accept", "text/html"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestLimitRate_OfThePublicKeyIsSeparate(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.NoFlag("public-rate-limit"), harness.Flag("rate-limit", "1000"))
	wantLimit(t, s.Public(t).Get("/api/jobs").Want(200), `"account";q=10;w=1`, `^"account";r=9;t=1$`)
	if let, _ := exhaust(t, func() *harness.Answer { return s.Public(t).Get("/api/jobs") }); let < 9 {
		t.Errorf("%d calls were let through", let)
	}
	wantLimit(t, s.Account(t).Get("/api/jobs").Want(200), `"account";q=1000;w=1`, `^"account";r=999;t=1$`)
}

func TestLimitRate_UnlimitedHasNoHeaders(t *testing.T) {
	t.Parallel()
	for _, a := range []*harness.Answer{account(t).Get("/api/jobs"), harness.Shared(t).Client(t, "").Get("/api/ping")} {
		if a.Header.Get("RateLimit")+a.Header.Get("RateLimit-Policy") != "" {
			t.Errorf("a response has %v", a.Header)
		}
	}
}

func TestLimitRate_IgnoresForwardedAddressesOfUntrustedClients(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("trusted-proxies", "192.0.2.0/24"))
	code := s.SetupCode(t)
	for i := range 10 {
		if status, cookies := signUp(t, s, "eve@example.com", "x", fmt.Sprintf("198.51.100.%d", i)); status != 422 || len(cookies) > 0 {
			t.Fatalf("a wrong code is answered with %d", status)
		}
	}
	if status, _ := signUp(t, s, "eve@example.com", code, "198.51.100.99"); status != 429 {
		t.Errorf("the eleventh is answered with %d", status)
	}
}
