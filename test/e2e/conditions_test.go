package e2e

import (
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// ifNew sets the header If-None-Match of a call that only creates.
func ifNew() harness.RequestOption { return harness.Header("If-None-Match", "*") }

func TestConditions_OfJobs(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, keyed("k"))
	a.Do("PATCH", jobPath(job), `{"name":"n"}`).Want(200)
	for _, tags := range []string{`"1"`, `"3"`, `W/"2"`, `2`, `"1", "7"`} {
		a.Post(jobPath(job)+"/cancel", nil, ifMatch(tags)).WantProblem(412)
		a.Post("/api/jobs/key:k/cancel", nil, ifMatch(tags)).WantProblem(412)
	}
	if state := a.Get(jobPath(job)).Want(200).Data().Get("job.state").Str(); state != "available" {
		t.Errorf("the job is %s", state)
	}
	answer := a.Post("/api/jobs/key:k/cancel", nil, ifMatch(`"1", "2"`)).Want(200)
	wantSame(t, "state", answer.Data().Get("job.state"), `"cancelled"`)
	wantETag(t, "a cancel", answer, 2) // it raises no revision
	wantETag(t, "the cancelled job", a.Get(jobPath(job)).Want(200), 2)
	a.Post(jobPath(job)+"/cancel", nil, ifMatch(`"1"`)).WantProblem(412)
	if detail := a.Post(jobPath(job)+"/cancel", nil, ifNew()).WantProblem(412).JSON.Get("detail").Str(); !strings.HasPrefix(detail,
		"the job exists") {
		t.Errorf("a cancel if there is no job: %s", detail)
	}
	a.Post(jobPath(job)+"/cancel", nil, ifMatch(`*`)).Want(200)
	other := account(t)
	other.Post(jobPath(job)+"/cancel", nil, ifMatch(`"2"`)).WantProblem(404)
}

func TestConditions_OfSchedules(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, path := recurring(a.Client, `"idempotency_key":"k","repeat_every":3600,"scheduled_at":"`+far+`"`)
	a.Do("PATCH", path, `{"name":"n"}`).Want(200)
	disabled := func() string { return a.Get(path).Want(200).Data().Get("disabled_at").Raw() }
	stale := func(method, path string) {
		t.Helper()
		before := disabled()
		a.Do(method, path, nil, ifMatch(`"1"`)).WantProblem(412)
		if got := disabled(); got != before {
			t.Errorf("%s %s with a stale tag: disabled_at is %s, before it was %s", method, path, got, before)
		}
	}
	stale("POST", path+"/disable")
	if got := len(unfinished(a.Client, job.Get("schedule_id").Str())); got != 1 {
		t.Errorf("%d unfinished runs", got)
	}
	wantETag(t, "disable", a.Post(path+"/disable", nil, ifMatch(`"2"`)).Want(200), 2)
	stale("POST", path+"/enable")
	wantETag(t, "enable", a.Post("/api/schedules/key:k/enable", nil, ifMatch(`"2"`)).Want(200), 2)
	stale("DELETE", path)
	stale("DELETE", "/api/schedules/key:k")
	a.Do("DELETE", path, nil, ifMatch(`"2"`)).Want(204)
	a.Do("DELETE", path, nil, ifMatch(`*`)).WantProblem(404)
	a.Get(jobPath(job)).Want(200)
}

func TestConditions_PutCreatesOnly(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t)
	shown := func(path string) string {
		record, _, _ := strings.Cut(a.Get(path).Want(200).Data().Raw(), `,"waiting"`) // of limits
		return record
	}
	const schedule = `{"url":"https://example.com/","repeat_every":3600}`
	for path, bodies := range map[string][2]string{
		"/api/schedules/key:k": {schedule, with(schedule, `"name":"n"`)},
		"/api/limits/l":        {`{"parallel":1}`, `{"parallel":2}`},
		"/api/alerts/a": {`{"on":["failed"],"to":[{"slack":"https://example.com/"}]}`,
			`{"on":["late"],"to":[{"slack":"https://example.com/"}]}`},
		"/api/secrets/s": {`{"value":"a","hosts":["example.com"]}`, `{"value":"b","hosts":["example.org"]}`},
	} {
		a.Do("PUT", path, bodies[0], ifMatch(`*`)).WantProblem(412)
		a.Get(path).WantProblem(404)
		a.Do("PUT", path, bodies[0], ifNew()).Want(201)
		stored := shown(path)
		for _, body := range bodies {
			a.Do("PUT", path, body, ifNew()).WantProblem(412)
		}
		if got := shown(path); got != stored {
			t.Errorf("%s is %s, want %s", path, got, stored)
		}
		if strings.HasPrefix(path, "/api/schedules") {
			continue
		}
		a.Do("PUT", path, bodies[1], ifMatch(`"1"`)).WantProblem(412)
		a.Do("PUT", path, bodies[1], ifMatch(`*`), ifNew()).WantProblem(412)
		a.Do("DELETE", path, nil, ifMatch(`"1"`)).WantProblem(412)
		a.Do("DELETE", path, nil, ifNew()).WantProblem(412)
		if got := shown(path); got != stored {
			t.Errorf("%s is %s, want %s", path, got, stored)
		}
		a.Do("PUT", path, bodies[1], ifMatch(`*`)).Want(200)
		a.Do("DELETE", path, nil, ifMatch(`*`)).Want(204)
		a.Do("DELETE", path, nil, ifNew()).WantProblem(404)
	}
	id := a.Get("/api/schedules/key:k").Want(200).Data().Get("id").Str()
	a.Do("PUT", "/api/schedules/"+id, schedule, ifNew()).WantProblem(412)
	state := "/api/schedules/" + id + "/state"
	a.Do("PUT", state, `{"n":0}`, ifMatch(`*`)).WantProblem(412)
	a.Do("DELETE", state, nil, ifMatch(`*`)).WantProblem(412)
	a.Do("DELETE", state, nil, ifNew()).Want(204)
	a.Do("PUT", state, `{"n":1}`, ifNew()).Want(200)
	a.Do("PUT", state, `{"n":2}`, ifNew()).WantProblem(412)
	wantSame(t, "state", a.Get(state).Want(200).Data().Get("state"), `{"n":1}`)
	a.Do("DELETE", state, nil, ifNew()).WantProblem(412)
	a.Do("PUT", state, `{"n":2}`, ifMatch(`*`)).Want(200)
	a.Do("DELETE", state, nil, ifMatch(`*`)).Want(204)
	a.Do("PUT", state, `{"n":3}`, ifNew()).Want(200)
}

// TestConditions_ManyAtOnceCreateOne: of simultaneous calls that only create, one does.
func TestConditions_ManyAtOnceCreateOne(t *testing.T) {
	t.Parallel()
	a := account(t)
	for path, body := range map[string]string{
		"/api/schedules/key:k": `{"url":"https://example.com/","repeat_every":3600}`,
		"/api/limits/l":        `{"parallel":1}`,
		"/api/alerts/a":        `{"on":["failed"],"to":[{"slack":"https://example.com/"}]}`,
	} {
		statuses := make([]int, 8)
		var wg sync.WaitGroup
		for i := range statuses {
			wg.Go(func() { statuses[i] = a.Do("PUT", path, body, ifNew()).Status })
		}
		wg.Wait()
		created := 0
		for _, status := range statuses {
			if status == 201 {
				created++
			} else if status != 412 {
				t.Errorf("PUT %s: %d", path, status)
			}
		}
		if created != 1 {
			t.Errorf("%d calls created %s", created, path)
		}
	}
}

func TestConditions_OfGroups(t *testing.T) {
	t.Parallel()
	a, other := account(t), account(t)
	const path, one, two = "/api/groups/g", `{"targets":[{"name":"a","url":"https://example.com/a"}]}`,
		`{"targets":[{"name":"b","url":"https://example.com/b"}]}`
	a.Do("PUT", path, one, ifMatch(`*`)).WantProblem(412)
	a.Do("PUT", path, one, ifMatch(`"1"`)).WantProblem(412)
	created := a.Do("PUT", path, one, ifNew()).Want(201)
	a.Do("PUT", path, two, ifNew()).WantProblem(412)
	tag := created.Header.Get("ETag")
	if want := `"` + created.Data().Get("revision").Raw() + `"`; tag != want || a.Get(path).Want(200).Header.Get("ETag") != want {
		t.Errorf("the tag is %s, want %s", tag, want)
	}
	other.Do("PUT", path, two).Want(201)
	a.Do("PUT", path, two, ifMatch(tag)).Want(200)
	a.Do("PUT", path, one, ifMatch(tag)).WantProblem(412) // there is another revision
	a.Do("DELETE", path, nil, ifMatch(tag)).WantProblem(412)
	next := a.Get(path).Want(200)
	wantSame(t, "the first target", next.Data().Get("targets.0.name"), `"b"`)
	a.Do("DELETE", path, nil, ifMatch(next.Header.Get("ETag"))).Want(204)
	a.Do("PUT", path, one).Want(201)
	a.Do("PUT", path, two, ifMatch(tag+", "+next.Header.Get("ETag"))).WantProblem(412) // of the deleted one
}
