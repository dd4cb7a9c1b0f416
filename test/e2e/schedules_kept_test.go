package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// A limit or a secret in use can't be deleted, however its user was created.
func TestScheduleKept_UsersOfLimitsAndSecrets(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t)
	other := a.Service.Account(t)
	route := harness.SharedTarget(t).Route(t)
	release := route.Hold(harness.Status(http.StatusOK))
	users := with(sending(route.URL, "{{secret.s}}", ""), `"limits":["l"],"repeat_every":[1,"day"],"schedule_in":[1,"day"]`)
	for _, c := range []*harness.Client{a.Client, other.Client} {
		c.Do("PUT", "/api/limits/l", `{"parallel":1}`).Want(201)
		putSecret(c, "s", "value-of-s").Want(201)
	}
	wantInUse := func(how string, status int) {
		t.Helper()
		for _, path := range []string{"/api/limits/l", "/api/secrets/s"} {
			if got := a.Do("DELETE", path, nil); got.Status != status {
				t.Errorf("%s: %s, want status %d", how, got, status)
			}
		}
	}
	a.Do("PUT", "/api/schedules/key:put", users).Want(201)
	wantInUse("put", 409)
	a.Do("DELETE", "/api/schedules/key:put", nil).Want(204)
	a.Post("/api/apply", document("", with(users, `"key":"applied"`))).Want(200)
	wantInUse("applied", 409)
	a.Do("DELETE", "/api/schedules/key:applied", nil).Want(204)

	first := create(a.Client, `{"idempotency_key":"k","url":`+quote(route.URL)+`}`)
	route.Await(t, 1, 10*time.Second)
	follower := create(a.Client, with(sending(route.URL, "{{secret.s}}", ""),
		`"limits":["l"],"idempotency_key":"k","on_conflict":"replace","schedule_in":[1,"hour"]`))
	wantInUse("a follower that waits", 409)
	release()
	awaitState(t, a.Client, first, "completed")
	wantInUse("a follower that was released", 409)
	a.Post(jobPath(follower)+"/cancel", nil).Want(200)
	wantInUse("a follower that was cancelled", 204)
	other.Get("/api/limits/l").Want(200)
	other.Get("/api/secrets/s").Want(200)
}

// What equals the stored schedule changes nothing, so it is accepted although a new
// schedule would be refused.
func TestScheduleKept_EqualContentIsAccepted(t *testing.T) {
	t.Parallel()
	a := account(t)
	route := harness.SharedTarget(t).Route(t)
	a.Do("PUT", "/api/limits/l", `{"parallel":1}`).Want(201)
	ends := time.Now().Add(5500 * time.Millisecond).UTC()
	ending := `{"url":` + quote(route.URL) + `,"repeat_every":1,"ends_at":` + quote(ends.Format(time.RFC3339Nano)) + `,"name":"n"}`
	a.Do("PUT", "/api/schedules/key:ended", ending).Want(201)
	limited := `{"url":` + quote(route.URL) + `,"cron":"0 0 1 1 *","limits":["l"]}`
	a.Do("PUT", "/api/schedules/key:limited", limited).Want(201)
	a.Post("/api/schedules/key:limited/disable", nil).Want(200)
	a.Do("DELETE", "/api/limits/l", nil).Want(204)
	harness.Eventually(t, 10*time.Second, "the end of the schedule", func() bool {
		return a.Get("/api/schedules/key:ended").Data().Get("disabled_at").Str() != ""
	})
	passed(t, ends)

	for key, body := range map[string]string{"ended": ending, "limited": limited} {
		before := a.Get("/api/schedules/key:" + key)
		answer := a.Do("PUT", "/api/schedules/key:"+key, body).Want(200)
		wantSame(t, key, answer.Data(), string(before.Data()))
		if got := answer.Header.Get("ETag"); got != before.Header.Get("ETag") {
			t.Errorf("%s: ETag %s, want %s", key, got, before.Header.Get("ETag"))
		}
		a.Do("PUT", schedulePathOf(before.Data()), body).Want(200)
	}
	export := a.Get("/api/export").Want(200)
	taken := with(strings.ReplaceAll(strings.TrimSpace(string(export.JSON)), `"owner":null,`, ""), `"owner":"repo"`)
	wantOutcome(t, a.Post("/api/apply", taken), "ended changed, limited changed") // of owner
	wantOutcome(t, a.Post("/api/apply", []byte(a.Get("/api/export?owner=repo").Body)), "ended unchanged, limited unchanged")
	a.Do("PUT", "/api/schedules/key:ended", with(ending, `"body":1`)).WantPointers("#/ends_at")
	a.Do("PUT", "/api/schedules/key:limited", with(limited, `"body":1`)).WantPointers("#/limits/0")
	a.Do("PUT", "/api/schedules/key:other", ending).WantPointers("#/ends_at")
}

func schedulePathOf(record harness.JSON) string { return "/api/schedules/" + record.Get("id").Str() }

// A run keeps what it has by a PATCH of its own, and all of it once it has started.
func TestScheduleKept_FieldsOfARun(t *testing.T) {
	t.Parallel()
	a := account(t)
	route := harness.SharedTarget(t).Route(t)
	run := create(a.Client, `{"url":`+quote(route.URL)+`,"repeat_every":[1,"day"],"schedule_in":[1,"day"],"name":"plan"}`)
	a.Do("PATCH", jobPath(run), `{"name":"mine","scheduled_at":"2031-01-02T03:04:05Z"}`).Want(200)
	a.Do("PATCH", schedulePath(run), `{"body":{"a":1},"description":"d"}`).Want(200)
	got := a.Get(jobPath(run)).Data()
	if got.Get("name").Str() != "mine" || got.Get("description").Str() != "d" ||
		got.Get("job.scheduled_at").Str() != "2031-01-02T03:04:05.000000Z" ||
		got.Get("args.scheduled_at").Str() != "2031-01-02T03:04:05Z" || string(got.Get("args.body.a")) != "1" {
		t.Errorf("after an edit of other fields: %s", got)
	}
	a.Do("PATCH", schedulePath(run), `{"name":"new","repeat_every":[2,"days"],"scheduled_at":"2031-05-05T00:00:00Z"}`).Want(200)
	got = a.Get(jobPath(run)).Data()
	if got.Get("name").Str() != "new" || got.Get("job.scheduled_at").Str() != "2031-05-05T00:00:00.000000Z" {
		t.Errorf("after an edit of the same fields: %s", got)
	}

	route.Respond(harness.Status(500))
	run = create(a.Client, `{"url":`+quote(route.URL)+`,"repeat_every":[1,"day"],"backoff":[[1,"hour"]],"name":"plan"}`)
	before := awaitState(t, a.Client, run, "retryable")
	a.Do("PATCH", schedulePath(run), `{"body":1,"name":"new","repeat_every":[2,"hours"]}`).Want(200)
	wantSame(t, "a run that waits for a retry", a.Get(jobPath(run)).Data(), string(before))
}

func TestScheduleKept_PointsThatNextPassesOver(t *testing.T) {
	t.Parallel()
	a := account(t)
	route := harness.SharedTarget(t).Route(t)
	route.RespondOnce(harness.JSONReply(`{"$next":345600000}`), harness.JSONReply(`{"$next":[250,"minutes"]}`))
	first := create(a.Client, `{"url":`+quote(route.URL)+`,"repeat_every":[1,"hour"]}`)
	awaitState(t, a.Client, first, "completed")
	wantEvents(t, logsOf(a.Client, first), "http.request", "http.response", "state.rejected")
	second := a.Post(schedulePath(first)+"/run", nil).Want(200).Data()
	awaitState(t, a.Client, second, "completed")
	third := a.Get(schedulePath(first) + "/details").Data()
	runs := a.Get("/api/jobs?state=scheduled&schedule_id=" + first.Get("schedule_id").Str()).Data().Items()
	if len(runs) != 1 {
		t.Fatalf("%d runs are pending: %s", len(runs), third)
	}
	logs := logsOf(a.Client, runs[0])
	wantEvents(t, logs, "schedule.skipped")
	if payload := logs[0].Get("payload"); payload.Get("reason").Str() != "next" || string(payload.Get("count")) != "4" {
		t.Errorf("the log says %s, want 4 points because of next", payload)
	}
	if points := a.Get(jobPath(runs[0]) + "/details").Data().Get("points"); string(points.Get("count")) != "5" {
		t.Errorf("details say %s, want 5 points", points)
	}
	a.Post(schedulePath(first)+"/run", nil).Want(200)
	if hit := route.Await(t, 3, 10*time.Second)[2]; hit.Header.Get("X-Punctual-Points") != "5" {
		t.Errorf("the run stands for %q points, want 5", hit.Header.Get("X-Punctual-Points"))
	}
}
