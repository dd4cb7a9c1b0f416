package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// pointsOf returns the header X-Punctual-Points of requests.
func pointsOf(hits []harness.Hit) []string {
	var points []string
	for _, hit := range hits {
		points = append(points, hit.Header.Get("X-Punctual-Points"))
	}
	return points
}

// payloads returns the payloads of the logs of an event of a schedule's runs,
// oldest first, without what changes from run to run.
func payloads(t *testing.T, c *harness.Client, schedule, event string) []harness.JSON {
	t.Helper()
	var all []harness.JSON
	for _, job := range runsOf(t, c, schedule) {
		for _, log := range logsOf(c, job) {
			if log.Get("event").Str() == event {
				all = append(all, log.Get("payload"))
			}
		}
	}
	return all
}

func skipPayload(first time.Time, count, from, to int, reason string) string {
	at := func(n int) string {
		return first.Add(time.Duration(n) * time.Second).UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return fmt.Sprintf(`{"count":%d,"from":%q,"to":%q,"reason":%q}`, count, at(from), at(to), reason)
}

func TestScheduleSkipped_PointsThatALongRunCovers(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	target.RespondOnce(harness.Delay(3500*time.Millisecond, harness.Status(200)))
	first := create(a.Client, `{"repeat_every":1,"url":"`+target.URL+`"}`)
	schedule, due := first.Get("schedule_id").Str(), instant(t, first.Get("job.scheduled_at"))
	hits := target.AwaitEnds(t, 2, soon)
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
	late := int(ticks(t, first, hits)[1]) // 3, or more on a busy machine
	// Runs that start late stand for the points that have passed by then, too.
	covered := func(hit harness.Hit) int {
		job := a.Get("/api/jobs/" + hit.Header.Get("X-Punctual-Job-Id")).Want(200).Data()
		return 1 + max(int(scheduledAt(t, hit).Sub(due)/time.Second), int(instant(t, job.Get("job.attempted_at")).Sub(due)/time.Second))
	}
	before, after := covered(hits[0]), covered(hits[1])
	if got := pointsOf(hits[:2]); late < 3 || !slices.Equal(got, []string{fmt.Sprint(before), fmt.Sprint(after - before)}) {
		t.Errorf("the runs stand for %q points, the second is due at point %d; want %d and %d", got, late, before, after-before)
	}
	skipped := payloads(t, a.Client, schedule, "worker.schedule.skipped")
	if before == 1 && (len(skipped) == 0 || skipped[0].Raw() != skipPayload(due, late-1, 1, late-1, "overlap")) {
		t.Errorf("skipped: %s", skipped)
	}
}

func TestScheduleCatchUp_AfterDowntime(t *testing.T) {
	t.Parallel()
	for catchUp, test := range map[string]struct {
		ticks  []float64 // of the first requests
		points func(skipped int) []string
	}{
		"one": {[]float64{0}, func(skipped int) []string { return []string{fmt.Sprint(1 + skipped)} }},
		"all": {[]float64{0, 1, 2, 3}, func(int) []string { return []string{"1", "1", "1", "1"} }},
	} {
		t.Run(catchUp, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t)
			c := s.Account(t).Client
			target := harness.SharedTarget(t).Route(t)
			first := create(c, `{"schedule_in":5,"repeat_every":1,"catch_up":"`+catchUp+`","url":"`+target.URL+`"}`)
			due := instant(t, first.Get("job.scheduled_at"))
			s.Kill()
			passed(t, due.Add(3300*time.Millisecond))
			s.Restart(t)
			hits := target.AwaitEnds(t, 4, afterCrash(s))
			c.Post(schedulePath(first)+"/disable", nil).Want(200)
			wantTicks(t, first, hits, test.ticks...)

			skipped := payloads(t, c, first.Get("schedule_id").Str(), "worker.schedule.skipped")
			n := 0
			if catchUp == "one" {
				if len(skipped) == 0 { // a busy machine skips more later
					t.Fatal("no points were skipped")
				}
				n = int(skipped[0].Get("count").Int())
				if want := skipPayload(due, n, 1, n, "down"); n < 3 || skipped[0].Raw() != want {
					t.Errorf("skipped: %s, want %s", skipped[0], want)
				}
			} else if len(skipped) > 0 && !instant(t,
				skipped[0].Get("from")).After(scheduledAt(t, hits[3])) { // later ones passed until the schedule was disabled
				t.Errorf("skipped: %s", skipped)
			}
			if want := test.points(n); !slices.Equal(pointsOf(hits)[:len(want)], want) {
				t.Errorf("the runs stand for %q points, want %q", pointsOf(hits), want)
			}
		})
	}
}

func TestScheduleCatchUp_NoneDiscardsARunThatIsTooLate(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Account(t).Client
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	first := create(c, `{"schedule_in":5,"repeat_every":1,"catch_up":"none","url":"`+target.URL+`","callback_url":"`+receiver.URL+`"}`)
	due := instant(t, first.Get("job.scheduled_at"))
	s.Kill()
	passed(t, due.Add(2300*time.Millisecond))
	s.Restart(t)
	target.AwaitEnds(t, 1, afterCrash(s))
	c.Post(schedulePath(first)+"/disable", nil).Want(200)
	for _, run := range runsOf(t, c, first.Get("schedule_id").Str()) {
		for _, log := range logsOf(c, run) {
			late := instant(t, log.Get("inserted_at")).Sub(instant(t, run.Get("job.scheduled_at")))
			if log.Get("event").Str() == "worker.http.request" && late >= time.Second {
				t.Errorf("a run started %s after its due time", late)
			}
		}
	}
	job := awaitState(t, c, first, "discarded")
	if !job.Get("job.attempted_at").IsNull() {
		t.Errorf("it was attempted: %s", job)
	}
	logs := logsOf(c, first)
	wantEvents(t, logs, "http.error")
	wantSame(t, "kind", logs[0].Get("payload.kind"), `"expired"`)
	var message harness.JSON
	harness.Eventually(t, soon, "the callback of the expired run", func() bool { // that of a later run may overtake it
		for _, hit := range receiver.Hits() {
			if hit.JSON().Get("job.job_id").Raw() == first.Get("job_id").Raw() {
				message = hit.JSON()
			}
		}
		return message.Exists()
	})
	wantSame(t, "the callback's response", message.Get("response"), `null`)
	wantSame(t, "the callback's kind", message.Get("error.kind"), `"expired"`)
	skipped := payloads(t, c, first.Get("schedule_id").Str(), "worker.schedule.skipped")
	if len(skipped) == 0 || skipped[0].Get("reason").Str() != "expired" {
		t.Errorf("skipped: %s", skipped)
	}
}

func TestJobExpiry_DiscardsAJobWhoseRetryWouldBeTooLate(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	callback, webhook := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"backoff":[1,60],"retries":5,"expires_in":50,"url":"`+target.URL+`","callback_url":"`+callback.URL+
		`","webhook_url":"`+webhook.URL+`"}`)
	awaitState(t, a.Client, job, "discarded")
	if hits := target.Hits(); len(hits) != 2 {
		t.Errorf("%d requests", len(hits))
	}
	logs := logsOf(a.Client, job)
	wantEvents(t, logs, "http.request", "http.response", "http.request", "http.response", "http.error")
	wantSame(t, "retry_at of the last attempt", logs[3].Get("payload.retry_at"), `null`)
	wantSame(t, "kind", logs[4].Get("payload.kind"), `"expired"`)
	message := callback.Await(t, 1, soon)[0].JSON()
	wantSame(t, "the callback's response", message.Get("response"), `null`)
	wantSame(t, "the callback's kind", message.Get("error.kind"), `"expired"`)
	var types []string
	for _, hit := range webhook.Await(t, 10, soon) {
		types = append(types, strings.TrimPrefix(hit.JSON().Get("type").Str(), "job."))
	}
	if got := strings.Join(types, " "); got != "started request response error started request response error error finished" {
		t.Errorf("events: %s", got)
	}
}

func TestJobExpiry_DiscardsAJobThatIsDueDuringDowntime(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Account(t).Client
	target, webhook := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	job := create(c, `{"schedule_in":5,"expires_in":0.5,"url":"`+target.URL+`","webhook_url":"`+webhook.URL+`"}`)
	inTime := create(c, `{"schedule_in":5,"expires_in":[1,"hour"],"url":"`+target.URL+`"}`)
	s.Kill()
	passed(t, instant(t, job.Get("job.scheduled_at")).Add(time.Second))
	s.Restart(t)
	awaitState(t, c, inTime, "completed")
	awaitState(t, c, job, "discarded")
	wantEvents(t, logsOf(c, job), "http.error")
	hits := webhook.Await(t, 2, soon)
	wantSame(t, "the first event", hits[0].JSON().Get("type"), `"job.error"`)
	wantSame(t, "the last event", hits[1].JSON().Get("type"), `"job.finished"`)
	if n := len(target.Hits()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestScheduleEnd_AfterMaxRuns(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	first := create(a.Client, `{"repeat_every":1,"max_runs":2,"url":"`+target.URL+`"}`)
	wantEnded(t, a.Client, first, "max_runs")
	if n := len(target.Hits()); n != 2 {
		t.Errorf("%d runs", n)
	}
	answer := a.Post(schedulePath(first)+"/enable", nil).Want(422)
	if detail := answer.JSON.Get("detail").Str(); !strings.Contains(detail, "max_runs") {
		t.Errorf("detail %q", detail)
	}
}

func TestScheduleEnd_AtEndsAt(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	begin := time.Now().Add(time.Second).UTC().Truncate(time.Millisecond)
	at := func(after time.Duration) string { return begin.Add(after).Format(time.RFC3339Nano) }
	first := create(a.Client, `{"scheduled_at":"`+at(0)+`","repeat_every":4,"ends_at":"`+at(4*time.Second)+`","url":"`+target.URL+`"}`)
	wantEnded(t, a.Client, first, "ends_at")
	wantTicks(t, first, target.Hits(), 0, 4)
	if n := len(target.Hits()); n != 2 {
		t.Errorf("%d runs", n)
	}
	a.Post(schedulePath(first)+"/enable", nil).Want(422)
}

// wantEnded waits until a schedule has ended.
func wantEnded(t *testing.T, c *harness.Client, first harness.JSON, why string) {
	t.Helper()
	harness.Eventually(t, soon, "the schedule's end",
		func() bool { return !c.Get(schedulePath(first)).Want(200).Data().Get("disabled_at").IsNull() })
	schedule := first.Get("schedule_id").Str()
	if left := unfinished(c, schedule); len(left) != 0 {
		t.Errorf("unfinished: %s", left)
	}
	if ended := payloads(t, c, schedule, "worker.schedule.ended"); len(ended) != 1 || ended[0].Raw() != `{"reason":"`+why+`"}` {
		t.Errorf("ended: %s", ended)
	}
}

func TestScheduleGrid_JitterAndExceptions(t *testing.T) {
	t.Parallel()
	a := account(t)
	const of = `"scheduled_at":"2031-03-01T00:00:00Z","url":"https://example.com/"`
	base := time.Date(2031, 3, 1, 0, 0, 0, 0, time.UTC)
	shifts := map[time.Duration]bool{}
	for range 5 {
		first := create(a.Client, `{`+of+`,"repeat_every":[1,"hour"],"jitter":[10,"minutes"]}`)
		shift := instant(t, first.Get("job.scheduled_at")).Sub(base)
		if shift < 0 || shift > 10*time.Minute {
			t.Errorf("the first run is shifted by %s", shift)
		}
		shifts[shift] = true
		a.Post(jobPath(first)+"/cancel", nil).Want(200)
		next := unfinished(a.Client, first.Get("schedule_id").Str())
		if len(next) != 1 || !instant(t, next[0].Get("job.scheduled_at")).Equal(base.Add(time.Hour+shift)) {
			t.Errorf("after a shift by %s the next run is %s", shift, next)
		}
	}
	preview := a.Post("/api/preview", `{`+of+`,"repeat_every":[1,"hour"],"jitter":[10,"minutes"],"max_runs":2}`).Want(200).Data()
	wantSame(t, "a preview, before the shift", preview.Get("next"), `["2031-03-01T00:00:00.000000Z","2031-03-01T01:00:00.000000Z"]`)
	if len(shifts) < 4 {
		t.Errorf("five schedules have the shifts %v", shifts)
	}
	first := create(a.Client, `{`+of+`,"cron":"0 9 * * *","timezone":"America/New_York","except":["2031-03-01","2031-03-03/2031-03-05"]}`)
	wantSame(t, "the first run", first.Get("job.scheduled_at"), `"2031-03-02T14:00:00.000000Z"`)
	a.Post(jobPath(first)+"/cancel", nil).Want(200)
	next := unfinished(a.Client, first.Get("schedule_id").Str())
	wantSame(t, "the next run", next[0].Get("job.scheduled_at"), `"2031-03-06T14:00:00.000000Z"`)
}

func TestScheduleGrid_EditsKeepTheShift(t *testing.T) {
	t.Parallel()
	a := account(t)
	const path = "/api/schedules/key:jittered"
	fields := func(cron string) string {
		return `"url":"https://example.com/","scheduled_at":"2031-03-01T00:00:00Z","cron":"` + cron + `","jitter":[1,"hour"]`
	}
	put := func(cron string) string { return a.Do("PUT", path, `{`+fields(cron)+`}`).Data().Get("id").Str() }
	id := put("0 6 * * *")
	pending := func() time.Time { return instant(t, unfinished(a.Client, id)[0].Get("job.scheduled_at")) }
	shift := pending().Sub(time.Date(2031, 3, 1, 6, 0, 0, 0, time.UTC))
	for hour, edit := range []func(cron string){
		7: func(cron string) { put(cron) },
		8: func(cron string) { a.Do("PUT", "/api/schedules/"+id, `{`+fields(cron)+`}`).Want(200) },
		9: func(cron string) { a.Do("PATCH", path, `{"cron":"`+cron+`"}`).Want(200) },
		10: func(cron string) {
			a.Post("/api/apply", `{"owner":"o","schedules":[{"key":"jittered",`+fields(cron)+`}]}`).Want(200)
		},
	} {
		if edit == nil {
			continue
		}
		edit(fmt.Sprintf("0 %d * * *", hour))
		want := time.Date(2031, 3, 1, hour, 0, 0, 0, time.UTC).Add(shift)
		next := a.Get(path + "/details").Want(200).Data().Get("next").Items()
		if got := pending(); !got.Equal(want) || !instant(t, next[0]).Equal(want) || !instant(t, next[1]).Equal(want.AddDate(0, 0, 1)) {
			t.Errorf("at %d: the pending run is due at %s, want %s; next are %s", hour, got, want, next)
		}
	}
}

// TestScheduleGrid_ReplacingKeepsTheOnlyPointLeft repeats requests whose only point
// is before ends_at with about half of all shifts.
func TestScheduleGrid_ReplacingKeepsTheOnlyPointLeft(t *testing.T) {
	t.Parallel()
	a := account(t)
	const path = "/api/schedules/key:last"
	fields := func(more string) string {
		return `"url":"https://example.com/","scheduled_at":"2031-03-01T00:00:00Z","repeat_every":[1,"day"],"jitter":[20,"hours"],"ends_at":"2031-03-01T10:00:00Z"` + more
	}
	created := a.Do("PUT", path, `{`+fields("")+`}`)
	for try := 0; created.Status == 422 && try < 100; try++ {
		created = a.Do("PUT", path, `{`+fields("")+`}`)
	}
	id := created.Want(201).Data().Get("id").Str()
	due := unfinished(a.Client, id)[0].Get("job.scheduled_at").Raw()
	for i := range 20 {
		if got := a.Do("PUT", path, `{`+fields("")+`}`).Want(200).Header.Get("ETag"); got != `"1"` {
			t.Errorf("an equal request makes revision %s", got)
		}
		a.Do("PUT", "/api/schedules/"+id, `{`+fields("")+`}`).Want(200)
		a.Post("/api/apply", `{"owner":"o","dry_run":true,"schedules":[{"key":"last",`+fields(fmt.Sprintf(`,"name":"%d"`, i))+
			`}]}`).Want(200)
	}
	a.Do("PUT", path, `{`+fields(`,"name":"n"`)+`}`).Want(200)
	left := unfinished(a.Client, id)
	wantSame(t, "name", left[0].Get("name"), `"n"`)
	wantSame(t, "due", left[0].Get("job.scheduled_at"), due)
	a.Do("PUT", path, `{`+fields(`,"except":["2031-03-01"]`)+`}`).WantProblem(422)
}
