package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

var (
	jobRecordKeys = []string{"id", "idempotency_key", "inserted_at", "name", "description",
		"user_id", "schedule_id", "job_id", "job", "args"}
	jobKeys = []string{"attempted_at", "cancelled_at", "completed_at", "discarded_at",
		"has_confict", "id", "inserted_at", "scheduled_at", "state"}
	scheduleKeys = []string{"id", "name", "description", "inserted_at", "disabled_at",
		"user_id", "frequency", "args"}
	logKeys = []string{"event", "id", "inserted_at", "job_id", "payload", "user_id"}
)

func TestAPIRecord_OfAJobHasTheseKeysInOrder(t *testing.T) {
	t.Parallel()
	a := account(t)
	before := time.Now()
	answer := a.Post("/api/jobs", `{"url":"https://example.com/hook","schedule_in":[30,"seconds"],
		"body":{"author":"alex","content":"Hello world!"},"method":"post"}`).Want(201)
	after := time.Now()
	wantKeys(t, "the answer", answer.JSON, "data")
	record := answer.Data()
	wantKeys(t, "the record", record, jobRecordKeys...)
	wantKeys(t, "job", record.Get("job"), jobKeys...)
	wantMatch(t, "id", record.Get("id"), uuidPattern)
	wantMatch(t, "inserted_at", record.Get("inserted_at"), secondsPattern)
	wantMatch(t, "job.inserted_at", record.Get("job.inserted_at"), microsPattern)
	if got := record.Get("user_id").Str(); got != a.ID {
		t.Errorf("user_id is %s, want the account's id %s", got, a.ID)
	}
	for _, path := range []string{"idempotency_key", "name", "description", "schedule_id",
		"job.attempted_at", "job.cancelled_at", "job.completed_at", "job.discarded_at"} {
		if !record.Get(path).IsNull() {
			t.Errorf("%s is %s, want null", path, record.Get(path).Raw())
		}
	}
	if record.Get("job_id").Int() <= 0 || record.Get("job_id").Raw() != record.Get("job.id").Raw() {
		t.Errorf("job_id %s and job.id %s are not one integer",
			record.Get("job_id").Raw(), record.Get("job.id").Raw())
	}
	wantSame(t, "job.has_confict", record.Get("job.has_confict"), "false")
	wantSame(t, "job.state", record.Get("job.state"), `"available"`)
	inserted := instant(t, record.Get("job.inserted_at"))
	wantBetween(t, "job.inserted_at", inserted, before, after)
	if want := inserted.Format("2006-01-02T15:04:05"); record.Get("inserted_at").Str() != want {
		t.Errorf("inserted_at is %s, want %s as in job.inserted_at", record.Get("inserted_at").Raw(), want)
	}
	wantBetween(t, "job.scheduled_at", instant(t, record.Get("job.scheduled_at")),
		before.Add(30*time.Second), after.Add(30*time.Second))
	wantSame(t, "args", record.Get("args"), `{"url":"https://example.com/hook","schedule_in":[30,"seconds"],
		"body":{"author":"alex","content":"Hello world!"},"method":"post","headers":{}}`)
}

func TestAPIRecord_OfAJobIsTheSameWhenCreatedReadAndListed(t *testing.T) {
	t.Parallel()
	a := account(t)
	created := a.Post("/api/jobs", with(waiting, `"name":"n","description":"d","idempotency_key":"k"`)).Want(201)
	record := created.Data()
	wantSame(t, "Location", harness.JSON(quote(created.Header.Get("Location"))), quote(jobPath(record)))
	for member, want := range map[string]string{"name": `"n"`, "description": `"d"`, "idempotency_key": `"k"`} {
		wantSame(t, member, record.Get(member), want)
		if record.Get("args").Member(member).Exists() {
			t.Errorf("args has %s, which lives on the record: %s", member, record.Raw())
		}
	}
	wantSame(t, "read by job_id", a.Get(jobPath(record)).Want(200).Data(), record.Raw())
	wantSame(t, "read by id", a.Get("/api/jobs/"+record.Get("id").Str()).Want(200).Data(), record.Raw())
	wantSame(t, "the list", a.Get("/api/jobs").Want(200).JSON, `{"data":[`+record.Raw()+`]}`)
}

func TestAPIRecord_OfAScheduleHasTheseKeysInOrder(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, with(waiting, `"repeat_every":90,"name":"n","description":"d","idempotency_key":"k"`))
	wantMatch(t, "schedule_id", job.Get("schedule_id"), uuidPattern)
	path := "/api/schedules/" + job.Get("schedule_id").Str()
	answer := a.Get(path).Want(200)
	wantKeys(t, "the answer", answer.JSON, "data")
	schedule := answer.Data()
	wantKeys(t, "the schedule", schedule, scheduleKeys...)
	wantMatch(t, "inserted_at", schedule.Get("inserted_at"), secondsPattern)
	for member, want := range map[string]string{
		"id": job.Get("schedule_id").Raw(), "user_id": quote(a.ID), "name": `"n"`, "description": `"d"`,
		"disabled_at": "null", "frequency": `{"repeat_every":[90,"seconds"]}`, "args": job.Get("args").Raw(),
	} {
		wantSame(t, member, schedule.Get(member), want)
	}
	wantSame(t, "the list", a.Get("/api/schedules").Want(200).JSON, `{"data":[`+schedule.Raw()+`]}`)
	disabled := a.Post(path+"/disable", nil).Want(200).Data()
	wantMatch(t, "disabled_at", disabled.Get("disabled_at"), zonedPattern)
}

func TestAPIRecord_FrequencyIsWrittenAsGivenOrInSeconds(t *testing.T) {
	t.Parallel()
	a := account(t)
	for given, want := range map[string]string{
		`"repeat_every":[5,"minutes"]`:                          `{"repeat_every":[5,"minutes"]}`,
		`"repeat_every":3600`:                                   `{"repeat_every":[3600,"seconds"]}`,
		`"cron":"0 9 * * 1-5"`:                                  `{"cron":"0 9 * * 1-5"}`,
		`"cron":"0 9 * * 1-5","timezone":"UTC"`:                 `{"cron":"0 9 * * 1-5"}`,
		`"cron":"0 9 * * 1-5","timezone":"Europe/Berlin"`:       `{"cron":"0 9 * * 1-5","timezone":"Europe/Berlin"}`,
		`"cron":"@daily"`:                                       `{"cron":"@daily"}`,
		`"timezone":"America/New_York","cron":"30 1 * * MON,3"`: `{"cron":"30 1 * * MON,3","timezone":"America/New_York"}`,
	} {
		job := create(a.Client, with(waiting, given))
		got := a.Get("/api/schedules/" + job.Get("schedule_id").Str()).Want(200).Data().Get("frequency")
		wantSame(t, given, got, want)
	}
}

func TestAPIRecord_OfALogHasTheseKeysInOrder(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Reply(202, "application/json", `{"n": 1.10}`))
	job := create(a.Client, `{"url":"`+target.URL+`","method":"post","body":{"a":1.0},
		"headers":{"x-one":"1"},"query":{"q":"2"},"metadata":false}`)
	awaitState(t, a.Client, job, "completed")
	answer := a.Get("/api/logs?order_by=inserted_at,asc").Want(200)
	logs := answer.Data().Items()
	if len(logs) != 2 {
		t.Fatalf("want the logs of one attempt: %s", answer)
	}
	for i, event := range []string{"worker.http.request", "worker.http.response"} {
		wantKeys(t, "the log", logs[i], logKeys...)
		wantMatch(t, "id", logs[i].Get("id"), uuidPattern)
		wantMatch(t, "inserted_at", logs[i].Get("inserted_at"), microsPattern)
		wantSame(t, "event", logs[i].Get("event"), quote(event))
		wantSame(t, "job_id", logs[i].Get("job_id"), job.Get("job_id").Raw())
		wantSame(t, "user_id", logs[i].Get("user_id"), quote(a.ID))
		one := a.Get("/api/logs/" + logs[i].Get("id").Str()).Want(200)
		wantSame(t, "read alone", one.JSON, `{"data":`+logs[i].Raw()+`}`)
	}
	wantKeys(t, "the request's payload", logs[0].Get("payload"), "body", "headers", "query", "url")
	wantSame(t, "the request's payload", logs[0].Get("payload"),
		`{"body":{"a":1.0},"headers":{"x-one":"1"},"query":{"q":"2"},"url":"`+target.URL+`"}`)
	response := logs[1].Get("payload")
	for _, key := range []string{"status", "headers", "body", "duration_ms", "truncated"} {
		if !response.Member(key).Exists() {
			t.Errorf("the response's payload has no %s: %s", key, response.Raw())
		}
	}
	wantSame(t, "status", response.Get("status"), "202")
	wantSame(t, "body", response.Get("body"), `{"n":1.10}`)
	wantSame(t, "truncated", response.Get("truncated"), "false")
}

func TestAPIRecord_OfABareRequestLogHasEmptyHeadersAndQueryAndNullBody(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"url":"`+target.URL+`"}`)
	awaitState(t, a.Client, job, "completed")
	logs := a.Get("/api/logs?event=worker.http.request").Want(200).Data()
	wantSame(t, "payload", logs.Get("0.payload"), `{"body":null,"headers":{},"query":{},"url":"`+target.URL+`"}`)
}

func TestAPIRecord_TimestampsAreSetWhenTheyHappen(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"url":"`+target.URL+`"}`)
	done := awaitState(t, a.Client, job, "completed").Get("job")
	due, started, ended := instant(t, done.Get("scheduled_at")), instant(t, done.Get("attempted_at")), instant(t, done.Get("completed_at"))
	if started.Before(due) || ended.Before(started) {
		t.Errorf("due %s, attempted %s, completed %s are out of order", due, started, ended)
	}
	for _, key := range []string{"cancelled_at", "discarded_at"} {
		wantSame(t, key, done.Get(key), "null")
	}
	cancelled := create(a.Client, waiting)
	got := a.Post(jobPath(cancelled)+"/cancel", nil).Want(200).Data().Get("job")
	wantMatch(t, "cancelled_at", got.Get("cancelled_at"), microsPattern)
	wantSame(t, "state", got.Get("state"), `"cancelled"`)
	failing := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	job = create(a.Client, `{"retries":0,"url":"`+failing.URL+`"}`)
	discarded := awaitState(t, a.Client, job, "discarded").Get("job")
	wantMatch(t, "discarded_at", discarded.Get("discarded_at"), microsPattern)
	wantMatch(t, "attempted_at", discarded.Get("attempted_at"), microsPattern)
	if strings.Contains(discarded.Get("completed_at").Raw(), "Z") {
		t.Errorf("a discarded job has completed_at: %s", discarded.Raw())
	}
}
