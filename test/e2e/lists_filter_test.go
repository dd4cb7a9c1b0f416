package e2e

import (
	"slices"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestListFilter_StateMatchesItselfAndScheduledMeansPending(t *testing.T) {
	t.Parallel()
	a := variety(t)
	all := a.Get("/api/jobs?limit=100").Want(200).Data().Items()
	for filter, states := range map[string][]string{
		"scheduled": {"available", "retryable"}, "completed": {"completed"}, "cancelled": {"cancelled"},
		"available": {"available"}, "executing": {"executing"}, "retryable": {"retryable"}, "discarded": {"discarded"},
	} {
		want := []string{}
		for _, record := range all {
			if slices.Contains(states, record.Get("job.state").Str()) {
				want = append(want, record.Get("id").Str())
			}
		}
		if len(want) < 2 {
			t.Fatalf("the account has too few jobs for %s", filter)
		}
		if got := ids(a.Get("/api/jobs?limit=100&state=" + filter)); !slices.Equal(got, want) {
			t.Errorf("state=%s\n got %q\nwant %q", filter, got, want)
		}
	}
	for _, filter := range []string{"", "pending", "Completed", "completed,cancelled", "all", "%00"} {
		a.Get("/api/jobs?state=" + filter).WantParameters("state")
	}
}

func TestListFilter_JobsByScheduleAndKey(t *testing.T) {
	t.Parallel()
	a := account(t)
	recurring := create(a.Client, with(keyed("a b&c"), `"repeat_every":60`))
	plain := create(a.Client, keyed("other"))
	schedule := recurring.Get("schedule_id").Str()
	a.Post(jobPath(recurring)+"/cancel", nil).Want(200)
	runs := ids(a.Get("/api/jobs?schedule_id=" + schedule))
	if len(runs) != 2 || slices.Contains(runs, plain.Get("id").Str()) {
		t.Errorf("runs of the schedule: %q", runs)
	}
	if got := ids(a.Get("/api/jobs?idempotency_key=a+b%26c")); !slices.Equal(got, runs) {
		t.Errorf("jobs with the key: %q, want %q", got, runs)
	}
	if got := ids(a.Get("/api/jobs?state=cancelled&schedule_id=" + schedule)); !slices.Equal(got, []string{recurring.Get("id").Str()}) {
		t.Errorf("cancelled runs: %q", got)
	}
	for _, empty := range []string{"schedule_id=" + noUUID, "idempotency_key=nobody", "state=completed&idempotency_key=other"} {
		wantSame(t, empty, a.Get("/api/jobs?"+empty).Want(200).Data(), `[]`)
	}
	for _, malformed := range []string{"x", "", "1", noUUID + "0", "{" + noUUID + "}"} {
		a.Get("/api/jobs?schedule_id=" + malformed).WantParameters("schedule_id")
	}
	a.Get("/api/jobs?idempotency_key=").WantParameters("idempotency_key")
}

func TestListFilter_LogsByJobAndEvent(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	var jobs []harness.JSON
	for range 2 {
		job := create(a.Client, `{"url":"`+target.URL+`"}`)
		awaitState(t, a.Client, job, "completed")
		jobs = append(jobs, job)
	}
	for _, job := range jobs {
		byInteger := a.Get("/api/logs?job_id=" + job.Get("job_id").Raw()).Want(200).Data()
		if got := byInteger.Pluck("job_id"); !slices.Equal(got, []string{job.Get("job_id").Raw(), job.Get("job_id").Raw()}) {
			t.Errorf("logs of the job are of %q", got)
		}
		wantSame(t, "logs by UUID", a.Get("/api/logs?job_id="+job.Get("id").Str()).Want(200).Data(), byInteger.Raw())
	}
	responses := a.Get("/api/logs?event=worker.http.response").Want(200).Data().Pluck("event")
	if !slices.Equal(responses, []string{`"worker.http.response"`, `"worker.http.response"`}) {
		t.Errorf("logs of the event: %q", responses)
	}
	one := a.Get("/api/logs?event=worker.http.request&job_id=" + jobs[0].Get("job_id").Raw()).Want(200).Data()
	if len(one.Items()) != 1 {
		t.Errorf("logs by job and event: %s", one.Raw())
	}
	wantSame(t, "logs of no job", a.Get("/api/logs?job_id="+noInt).Want(200).Data(), `[]`)
	for _, malformed := range []string{"", "x", "1.5", noUUID + "0"} {
		a.Get("/api/logs?job_id=" + malformed).WantParameters("job_id")
	}
	a.Get("/api/logs?event=").WantParameters("event")
}
