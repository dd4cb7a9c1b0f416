package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const daily = `{"url":"https://example.com/hook","cron":"0 0 * * *"}`

// wantFull fails the test unless a create is refused and the detail names the
// limit.
func wantFull(t *testing.T, a *harness.Answer, limit string) {
	t.Helper()
	a.WantProblem(429)
	if got := a.Header.Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After is %q, want 60: %s", got, a)
	}
	if detail := a.JSON.Get("detail").Str(); !strings.Contains(detail, limit) {
		t.Errorf("the detail does not name %s: %s", limit, detail)
	}
}

func TestLimitQuota_OfPendingJobs(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("max-pending", "3"))
	a, b := s.Account(t), s.Account(t)
	made := []harness.JSON{create(a.Client, waiting), create(a.Client, with(waiting, `"idempotency_key":"k"`)), create(a.Client, waiting)}
	wantFull(t, a.Post("/api/jobs", waiting), "max-pending")
	create(b.Client, waiting)
	create(a.Client, daily) // runs of a schedule do not count
	wantFull(t, a.Post(jobPath(made[0])+"/rerun", nil), "max-pending")
	duplicate := a.Post("/api/jobs", with(waiting, `"idempotency_key":"k"`)).Want(200)
	wantSame(t, "the duplicate", duplicate.Data().Get("job.has_confict"), "true")
	a.Post("/api/jobs", `{"url":"x"}`).WantProblem(422) // validation comes before the limit

	s.Kill()
	s.Restart(t)
	wantFull(t, a.Post("/api/jobs", waiting), "max-pending")
	a.Post(jobPath(made[0])+"/cancel", nil).Want(200)
	target := harness.SharedTarget(t)
	done := create(a.Client, `{"url":"`+target.Route(t).URL+`"}`)
	awaitState(t, a.Client, done, "completed")
	create(a.Client, waiting)
	wantFull(t, a.Post("/api/jobs", waiting), "max-pending")
	account := a.Get("/api/account").Want(200).Data()
	wantSame(t, "limits", account.Get("limits"), `{"calls_per_second":null,"pending_jobs":3,"schedules":null,"stored_bytes":null,"keys":100,"body_bytes":1048576}`)
	wantSame(t, "usage", account.Get("usage"), `{"pending_jobs":3,"schedules":1,"stored_bytes":null,"sampled_at":null}`)
	if metrics := string(a.Get("/metrics").Want(200).Body); !strings.Contains(metrics, `punctual_refused_total{reason="pending"} 2`) {
		t.Error("the metrics don't count two refusals since the restart")
	}
}

// TestLimitQuota_KeepsTheOrderOfABatch: with keep-order no job is stored or changed after one
// that a limit refuses, but requests that were answered before are answered again.
func TestLimitQuota_KeepsTheOrderOfABatch(t *testing.T) {
	t.Parallel()
	a := harness.Start(t, harness.Flag("max-schedules", "1")).Account(t)
	create(a.Client, with(waiting, `"request_id":"known"`))
	batch := `[` + waiting + `,` + daily + `,` + daily + `,` + waiting + `,{"url":"x"},` + with(waiting, `"request_id":"known"`) + `]`
	post := func(batch, want string, opts ...harness.RequestOption) {
		t.Helper()
		var got []string
		for _, item := range a.Post(batchPath+"?atomic=false", batch, opts...).Want(200).Data().Items() {
			got = append(got, item.Get("status").Raw())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the statuses are %s, want %s", got, want)
		}
	}
	ordered := harness.Header("Prefer", "return=minimal, keep-order")
	post(batch, "201 201 429 429 422 200", ordered)
	post(batch, "201 429 429 201 422 200")
	replaces := with(waiting, `"idempotency_key":"k","on_conflict":"replace"`)
	post(`[`+daily+`,`+replaces+`]`, "429 429", ordered)
	post(`[`+replaces+`,`+replaces+`]`, "201 200", ordered)
	post(`[`+daily+`,`+replaces+`]`, "429 429", ordered)
	post(`[`+daily+`,`+replaces+`]`, "429 200")
	wantSame(t, "usage", a.Get("/api/account").Want(200).Data().Get("usage"), `{"pending_jobs":5,"schedules":1,"stored_bytes":null,"sampled_at":null}`)
}

func TestLimitQuota_HoldsForConcurrentCreates(t *testing.T) {
	t.Parallel()
	const most = 20
	a := harness.Start(t, harness.Flag("max-pending", fmt.Sprint(most))).Account(t)
	var mu sync.Mutex
	count := map[int]int{}
	storm := func() {
		clear(count)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 5 {
					made, err := a.Try(http.MethodPost, "/api/jobs", waiting)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					count[made.Status]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
	}
	storm()
	if count[201] != most || count[429] != 80-most {
		t.Errorf("of 80 creates these came: %v", count)
	}
	jobs := a.Get("/api/jobs?limit=100").Want(200).Data().Items()
	for _, j := range jobs[:7] {
		a.Post(jobPath(j)+"/cancel", nil).Want(200)
	}
	storm()
	if count[201] != 7 {
		t.Errorf("after 7 were cancelled these came: %v", count)
	}
}

func TestLimitQuota_OfSchedules(t *testing.T) {
	t.Parallel()
	a := harness.Start(t, harness.Flag("max-schedules", "2")).Account(t)
	first := create(a.Client, daily)
	create(a.Client, daily)
	wantFull(t, a.Post("/api/jobs", daily), "max-schedules")
	path := "/api/schedules/" + first.Get("schedule_id").Str()
	a.Post(path+"/disable", nil).Want(200)
	wantFull(t, a.Post("/api/jobs", daily), "max-schedules") // disabled ones count,
	a.Post(path+"/enable", nil).Want(200)                    // so they can always be enabled
	create(a.Client, waiting)
	a.Do(http.MethodDelete, path, nil).Want(204)
	create(a.Client, daily)
}

// TestLimitQuota_RemovedSchedulesMakeRoom replaces schedules of a document at the
// limit.
func TestLimitQuota_RemovedSchedulesMakeRoom(t *testing.T) {
	t.Parallel()
	a := harness.Start(t, harness.Flag("max-schedules", "3")).Account(t)
	create(a.Client, daily)
	a.Post("/api/apply", document("", dailyItem("a", ""), dailyItem("b", ""))).Want(200)
	wantFull(t, a.Post("/api/apply", document("", dailyItem("c", ""))), "max-schedules")
	wantOutcome(t, a.Post("/api/apply", document(`,"prune":true`, dailyItem("c", ""), dailyItem("d", ""))),
		"c created, d created, a removed, b removed")
	wantFull(t, a.Post("/api/apply", document(`,"prune":true`, dailyItem("c", ""), dailyItem("e", ""), dailyItem("f", ""))),
		"max-schedules")
	wantFull(t, a.Post("/api/jobs", daily), "max-schedules")
	a.Post("/api/apply", document(`,"prune":true`, dailyItem("d", ""))).Want(200)
	create(a.Client, daily)
	wantFull(t, a.Post("/api/jobs", daily), "max-schedules")
}

func TestLimitQuota_OfStoredBytes(t *testing.T) {
	t.Parallel()
	a := harness.Start(t, harness.Flag("max-stored", "20KB")).Account(t)
	large := with(waiting, `"body":"`+strings.Repeat("x", 6000)+`"`)
	for range 4 {
		create(a.Client, large)
	}
	wantFull(t, a.Post("/api/jobs", large), "max-stored")
	usage := a.Get("/api/account").Want(200).Data()
	wantSame(t, "the limit", usage.Get("limits.stored_bytes"), "20000")
	if n := usage.Get("usage.stored_bytes").Int(); n < 24_000 || n > 26_000 {
		t.Errorf("%d bytes are in use", n)
	}
	account := a.Service.Account(t)
	create(account.Client, waiting)
}

func TestLimitQuota_AppliesToThePublicAccountByDefault(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.NoFlag("max-pending"), harness.NoFlag("max-schedules"), harness.NoFlag("max-stored"))
	public, own := s.Public(t), s.Account(t)
	for range 20 {
		create(public, daily)
	}
	wantFull(t, public.Post("/api/jobs", daily), "max-schedules")
	for range 21 {
		create(own.Client, daily)
	}
	wantSame(t, "an account's limits", own.Get("/api/account").Want(200).Data().Get("limits"),
		`{"calls_per_second":null,"pending_jobs":null,"schedules":null,"stored_bytes":null,"keys":100,"body_bytes":1048576}`)
}

func TestLimitQuota_OfOneAccountTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("max-pending", "2"))
	a, b := s.Account(t), s.Account(t)
	for range 2 {
		create(a.Client, waiting)
		create(b.Client, waiting)
	}
	s.Command(t, "accounts", "limit", a.Email, "--max-pending", "4")
	for range 2 {
		harness.Eventually(t, soon, "a create", func() bool { return a.Post("/api/jobs", waiting).Status == 201 })
	}
	wantFull(t, a.Post("/api/jobs", waiting), "limit of 4 ")
	wantFull(t, b.Post("/api/jobs", waiting), "limit of 2 ")
	s.Command(t, "accounts", "limit", a.Email, "--max-pending", "0")
	harness.Eventually(t, soon, "a create", func() bool { return a.Post("/api/jobs", waiting).Status == 201 })
	s.Command(t, "accounts", "limit", a.Email, "--max-pending", "default", "--rate-limit", "1")
	harness.Eventually(t, soon, "the rate", func() bool { return a.Get("/api/jobs").Header.Get("RateLimit-Policy") == `"account";q=1;w=1` })
	harness.Eventually(t, soon, "the service's limit", func() bool {
		made := a.Post("/api/jobs", waiting)
		return made.Status == 429 && strings.Contains(made.JSON.Get("detail").Str(), "limit of 2 ")
	})
}
