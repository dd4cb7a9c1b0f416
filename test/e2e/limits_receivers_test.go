package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// crowd returns the largest number of times in any window of a length.
func crowd(times []time.Time, window time.Duration) int {
	slices.SortFunc(times, time.Time.Compare)
	most := 0
	for i := range times {
		n := 0
		for _, at := range times[i:] {
			if at.Sub(times[i]) < window {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// starts returns when the attempts of an account started, in any order. It fails the
// test if a request arrived before its job's first start.
func starts(t *testing.T, c *harness.Client, hits []harness.Hit) []time.Time {
	t.Helper()
	var all []time.Time
	first := map[string]time.Time{}
	for _, log := range everyRecord(t, c, "/api/logs?limit=100&event=worker.http.request") {
		at := instant(t, log.Get("inserted_at"))
		all = append(all, at)
		if job := log.Get("job_id").Raw(); first[job].IsZero() || at.Before(first[job]) {
			first[job] = at
		}
	}
	for _, hit := range hits {
		if at := first[hit.Header.Get("X-Punctual-Job-Id")]; at.IsZero() || hit.At.Before(at) {
			t.Errorf("a request arrived at %s, its job's first start was %s", hit.At, at)
		}
	}
	return all
}

func TestLimits_RateHoldsThroughKills(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	a := s.Account(t)
	target := harness.SharedTarget(t).Route(t)
	a.Do("PUT", "/api/limits/slow", `{"rate":{"calls":3,"per":1}}`).Want(201)
	const jobs = 24
	for i := range jobs {
		a.Post("/api/jobs", fmt.Sprintf(`{"url":"%s","schedule_in":%g,"limits":["slow"]}`, target.URL, 0.5+0.001*float64(i))).Want(201)
	}
	for n := 4; n < jobs; n += 7 {
		target.Await(t, n, 20*time.Second)
		s.Kill()
		s.Restart(t)
	}
	hits := target.Await(t, jobs, 40*time.Second)
	// On a busy machine requests arrive late, and so closer to each other.
	if got := crowd(starts(t, a.Client, hits), time.Second); got > 3 {
		t.Errorf("%d starts in a second, the limit is 3", got)
	}
}

func TestLimits_ParallelHoldsThroughAKill(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	a := s.Account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	a.Do("PUT", "/api/limits/few", `{"parallel":2}`).Want(201)
	for range 6 {
		a.Post("/api/jobs", `{"url":"`+target.URL+`","limits":["few"]}`).Want(201)
	}
	target.Await(t, 2, soon)
	s.Kill()
	s.Restart(t)
	target.Await(t, 4, afterKill) // the two that were under way, again
	if target.Quiet(500 * time.Millisecond); len(target.Hits()) != 4 {
		t.Errorf("%d requests, want 4: 2 before the kill, 2 after it", len(target.Hits()))
	}
	release()
	target.Await(t, 8, 20*time.Second)
}

// TestLimits_EndOfAnAwaitingAttemptIsUsedAtOnce ends attempts that await their
// completion. Without a notice, their place is found free a second after it was
// last found taken.
func TestLimits_EndOfAnAwaitingAttemptIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	owner, anyone := completions(t)
	owner.Do("PUT", "/api/limits/one", `{"parallel":1}`).Want(201)
	for name, end := range map[string]func(job harness.JSON, path string){
		"a report":     func(_ harness.JSON, path string) { anyone.Post(path, `{"result":1}`).Want(200) },
		"a cancelling": func(job harness.JSON, _ string) { owner.Post(jobPath(job)+"/cancel", nil).Want(200) },
	} {
		var took time.Duration
		for range 3 { // a busy machine may be late by chance, a missing notice is each time
			job, _, path := accepting(t, owner.Client, `"limits":["one"],"completion":{"within":[1,"hour"]}`)
			next := harness.SharedTarget(t).Route(t)
			create(owner.Client, `{"url":"`+next.URL+`","limits":["one"]}`)
			if next.Quiet(100 * time.Millisecond); len(next.Hits()) != 0 {
				t.Fatalf("%s: a job started while another was under way", name)
			}
			ended := time.Now()
			end(job, path)
			next.Await(t, 1, soon)
			if took = time.Since(ended); took <= harness.Allowed(600*time.Millisecond, ended) {
				took = 0
				break
			}
		}
		if took > 0 {
			t.Errorf("%s: the next job started after %s", name, took)
		}
	}
}

func TestLimits_WaitingIsShown(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	a.Do("PUT", "/api/limits/held", `{"paused":true}`).Want(201)
	a.Do("PUT", "/api/limits/free", `{"parallel":9}`).Want(201)
	job := create(a.Client, `{"url":"`+target.URL+`","limits":["free","held"]}`)
	harness.Eventually(t, soon, "the job to wait", func() bool {
		return a.Get("/api/limits/held").Want(200).Data().Get("waiting").Int() == 1
	})
	details := a.Get(jobPath(job) + "/details").Want(200).Data()
	wantSame(t, "waiting_for", details.Get("waiting_for"), `["held"]`)
	wantSame(t, "state", details.Get("job.job.state"), `"available"`)
	wantSame(t, "next_at", a.Get("/api/limits/held").Data().Get("next_at"), `null`)
	a.Do("DELETE", "/api/limits/held", nil).WantProblem(409)
	a.Do("PUT", "/api/limits/held", `{"rate":{"calls":10,"per":[1,"minute"]}}`).Want(200)
	target.Await(t, 1, soon)
	awaitState(t, a.Client, job, "completed")
	a.Do("DELETE", "/api/limits/held", nil).Want(204)
}

// TestLimits_HostIsReadAsInURLs defines limits for hosts in other spellings than those
// of the jobs' URLs.
func TestLimits_HostIsReadAsInURLs(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, x := range []struct{ spelling, key, url string }{
		{"[2001:DB8::1]", "2001:db8::1", "https://[2001:db8::1]/"},
		{"One.Example.", "one.example", "https://one.example/"},
		{"B%C3%BCcher.example", "xn--bcher-kva.example", "https://b\u00fccher.example./"},
	} {
		path := "/api/limits/host:" + x.spelling
		limit := a.Do("PUT", path, `{"paused":true}`).Want(201)
		wantSame(t, "the key", limit.Data().Get("key"), `"host:`+x.key+`"`)
		a.Do("PUT", "/api/limits/"+url.PathEscape("host:"+x.key), `{"paused":true}`).Want(200)
		job := create(a.Client, `{"url":"`+x.url+`"}`)
		harness.Eventually(t, soon, "the job to wait", func() bool {
			return a.Get(path).Want(200).Data().Get("waiting").Int() == 1
		})
		wantSame(t, "waiting_for", a.Get(jobPath(job)+"/details").Want(200).Data().Get("waiting_for"), `["host:`+x.key+`"]`)
		if found := a.Get("/api/jobs?host=" + x.spelling).Want(200).Data().Items(); len(found) != 1 ||
			found[0].Get("id").Raw() != job.Get("id").Raw() {
			t.Errorf("host=%s finds %d jobs", x.spelling, len(found))
		}
		a.Post(jobPath(job)+"/cancel", nil).Want(200)
		a.Do("DELETE", path, nil).Want(204)
	}
}

func TestLimits_PublicKeyIsRefused(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	public := s.Public(t)
	for _, call := range [][2]string{{"GET", ""}, {"GET", "/a"}, {"PUT", "/a"}, {"DELETE", "/a"}} {
		public.Do(call[0], "/api/limits"+call[1], `{"parallel":1}`).WantProblem(http.StatusForbidden)
	}
}

func TestLimits_RefusedBodies(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Do("PUT", "/api/limits/a", `{"rate":{"calls":0,"per":-1,"burst":1},"parallel":0,"pausd":1}`).WantProblem(422).
		WantPointers("#/rate/calls", "#/rate/per", "#/rate/burst", "#/parallel", "#/pausd")
	a.Do("PUT", "/api/limits/a%20b", `{}`).WantProblem(422)
	a.Post("/api/jobs", `{"url":"https://example.com","limits":["none","b a",5]}`).WantProblem(422).
		WantPointers("#/limits/0", "#/limits/1", "#/limits/2")
}

func TestLimits_ListLinksToItsNextPage(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t)
	for _, name := range []string{"a", "b", "c"} {
		limit := a.Do("PUT", "/api/limits/host:"+name, `{"parallel":1}`).Want(201)
		a.Get(limit.Header.Get("Location")).Want(200)
		secret := putSecret(a.Client, name, "s3cret-value").Want(201)
		a.Get(secret.Header.Get("Location")).Want(200)
	}
	for _, list := range []string{"/api/limits", "/api/secrets"} {
		if got := len(everyRecord(t, a.Client, list+"?limit=2")); got != 3 {
			t.Errorf("%s has %d records over all pages, want 3", list, got)
		}
		for page, want := range map[string]string{
			"?limit=2": "<" + list + `?limit=2&offset=2>; rel="next"`, "?limit=3": "",
			"?limit=1&offset=1": "<" + list + `?limit=1&offset=2>; rel="next"`, "?limit=1&offset=2": "", "": "",
		} {
			if got := a.Get(list + page).Want(200).Header.Get("Link"); got != want {
				t.Errorf("the Link of %s%s is %s, want %s", list, page, got, want)
			}
		}
	}
}
