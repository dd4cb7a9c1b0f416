package e2e

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// idle is a target on which nothing listens: jobs that are due at once fail
// there.
const idle = `{"url":"https://127.0.0.1:1/","retries":0}`

func TestTiming_ScheduleInIsADurationFromNow(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct {
		given string
		want  time.Duration
	}{
		{`30`, 30 * time.Second},
		{`0`, 0},
		{`0.25`, 250 * time.Millisecond},
		{`1.5e3`, 1500 * time.Second},
		{`[30,"seconds"]`, 30 * time.Second},
		{`[1,"second"]`, time.Second},
		{`[1.5,"minutes"]`, 90 * time.Second},
		{`[2,"minute"]`, 2 * time.Minute},
		{`[3,"HOURS"]`, 3 * time.Hour},
		{`[1,"Hour"]`, time.Hour},
		{`[0.5,"days"]`, 12 * time.Hour},
		{`[1,"day"]`, 24 * time.Hour},
		{`[2,"weeks"]`, 14 * 24 * time.Hour},
		{`[1,"week"]`, 7 * 24 * time.Hour},
		{`[3652,"days"]`, 3652 * 24 * time.Hour},
		{`315532800`, 3652 * 24 * time.Hour},
	}
	for _, test := range tests {
		t.Run(test.given, func(t *testing.T) {
			before := time.Now()
			record := create(a.For(t), with(idle, `"schedule_in":`+test.given))
			wantBetween(t, "scheduled_at", instant(t, record.Get("job.scheduled_at")),
				before.Add(test.want), time.Now().Add(test.want))
			wantSame(t, "args.schedule_in", record.Get("args.schedule_in"), test.given)
		})
	}
}

func TestTiming_InvalidDurationsAreRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct{ given, pointer string }{
		{`-1`, ""}, {`-0.001`, ""}, {`1e999`, ""}, {`315532801`, ""}, {`"30"`, ""}, {`true`, ""}, {`{}`, ""},
		{`[]`, ""}, {`[1]`, ""}, {`[1,"seconds","x"]`, ""}, {`"1 hour"`, ""},
		{`[-1,"seconds"]`, "/0"}, {`["1","seconds"]`, "/0"}, {`[null,"seconds"]`, "/0"}, {`[1e999,"seconds"]`, "/0"},
		{`[3653,"days"]`, "/0"}, {`[522,"weeks"]`, "/0"},
		{`[1,"fortnight"]`, "/1"}, {`[1,"ms"]`, "/1"}, {`[1,"months"]`, "/1"}, {`[1,"years"]`, "/1"}, {`[1,""]`, "/1"},
		{`[1,2]`, "/1"}, {`[1,null]`, "/1"}, {`[1," seconds"]`, "/1"},
	}
	for _, test := range tests {
		t.Run(test.given, func(t *testing.T) {
			for _, field := range []string{"schedule_in", "repeat_every"} {
				body := with(`{"url":"https://example.com"}`, `"`+field+`":`+test.given)
				a.For(t).Post("/api/jobs", body).WantPointers("#/" + field + test.pointer)
			}
		})
	}
	for given, pointer := range map[string]string{`0`: "", `0.999`: "", `[0,"hours"]`: "/0", `[0.5,"seconds"]`: "/0"} {
		a.Post("/api/jobs", with(waiting, `"repeat_every":`+given)).WantPointers("#/repeat_every" + pointer)
	}
}

func TestTiming_ScheduledAtIsADatetimeOrAUnixTimestamp(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct{ given, want string }{
		{`"2031-05-06T07:08:09Z"`, "2031-05-06T07:08:09.000000Z"},
		{`"2031-05-06T07:08:09.5Z"`, "2031-05-06T07:08:09.500000Z"},
		{`"2031-05-06T07:08:09.123456789Z"`, "2031-05-06T07:08:09.123456Z"},
		{`"2031-05-06T07:08:09.9999999+00:00"`, "2031-05-06T07:08:09.999999Z"},
		{`"2031-05-06 07:08:09Z"`, "2031-05-06T07:08:09.000000Z"},
		{`"2031-05-06t07:08:09z"`, "2031-05-06T07:08:09.000000Z"},
		{`"2031-05-06T07:08Z"`, "2031-05-06T07:08:00.000000Z"},
		{`"2031-05-06 07:08"`, "2031-05-06T07:08:00.000000Z"},
		{`"2031-05-06T07:08:09"`, "2031-05-06T07:08:09.000000Z"},
		{`"2031-05-06T07:08:09.25"`, "2031-05-06T07:08:09.250000Z"},
		{`"2031-05-06T07:08:09+02"`, "2031-05-06T05:08:09.000000Z"},
		{`"2031-05-06T07:08:09+0200"`, "2031-05-06T05:08:09.000000Z"},
		{`"2031-05-06T07:08:09+02:00"`, "2031-05-06T05:08:09.000000Z"},
		{`"2031-05-06T07:08:09-05:30"`, "2031-05-06T12:38:09.000000Z"},
		{`"2031-05-06T07:08-08"`, "2031-05-06T15:08:00.000000Z"},
		{`"2031-05-06T01:00:00+03:00"`, "2031-05-05T22:00:00.000000Z"},
		{`"2031-05-06"`, "2031-05-06T00:00:00.000000Z"},
		{`"2032-02-29"`, "2032-02-29T00:00:00.000000Z"},
		{`1935983289`, "2031-05-08T05:08:09.000000Z"},
		{`1935983289.25`, "2031-05-08T05:08:09.250000Z"},
		{`1935983289.1234567`, "2031-05-08T05:08:09.123456Z"},
		{`1.935983289e9`, "2031-05-08T05:08:09.000000Z"},
		{`1935983289250`, "2031-05-08T05:08:09.250000Z"},
		{`1935983289250.5`, "2031-05-08T05:08:09.250500Z"},
		// the past: due now, shown as given
		{`"2001-02-03T04:05:06Z"`, "2001-02-03T04:05:06.000000Z"},
		{`"1969-12-31"`, "1969-12-31T00:00:00.000000Z"},
		{`0`, "1970-01-01T00:00:00.000000Z"},
		{`-1`, "1969-12-31T23:59:59.000000Z"},
		{`-0.5`, "1969-12-31T23:59:59.500000Z"},
		{`100000000000`, "1973-03-03T09:46:40.000000Z"},
	}
	for _, test := range tests {
		t.Run(test.given, func(t *testing.T) {
			record := create(a.For(t), with(idle, `"scheduled_at":`+test.given))
			wantSame(t, "job.scheduled_at", record.Get("job.scheduled_at"), quote(test.want))
			wantSame(t, "args.scheduled_at", record.Get("args.scheduled_at"), test.given)
		})
	}
}

func TestTiming_OtherFormsOfScheduledAtAreRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, given := range []string{
		`""`, `"tomorrow"`, `"now"`, `"1935983289"`, `"20310506T070809Z"`, `"20310506"`, `"2031-W19-2"`, `"2031-126"`,
		`"2031-05"`, `"2031-05-06T07Z"`, `"2031-05-06T"`, `"2031-05-06T07:08:60Z"`, `"2031-06-30T23:59:60Z"`,
		`"2031-05-06T24:00:00Z"`, `"2031-02-30"`, `"2031-13-01"`, `"2031-00-10"`, `"2031-5-6"`, `"31-05-06"`,
		`"2031-05-06T07:08:09+2"`, `"2031-05-06T07:08:09+25:00"`, `"2031-05-06T07:08:09 UTC"`, `"2031-05-06T07:08:09,5Z"`,
		`"2031-05-06T7:08:09Z"`, `"2031-05-06T07:08:09."`, `"2031/05/06"`, `" 2031-05-06"`, `"2031-05-06T07:08:09Z "`,
		`"Tue, 06 May 2031 07:08:09 GMT"`, `true`, `{}`, `[]`, `[1,"second"]`, `1e999`, `-1e999`,
	} {
		t.Run(given, func(t *testing.T) {
			body := `{"url":"https://example.com","scheduled_at":` + given + `}`
			a.For(t).Post("/api/jobs", body).WantPointers("#/scheduled_at")
		})
	}
}

func TestTiming_DefaultIsDueNow(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	before := time.Now()
	record := create(a.Client, `{"url":"`+target.URL+`"}`)
	wantBetween(t, "scheduled_at", instant(t, record.Get("job.scheduled_at")), before, time.Now())
	target.Await(t, 1, soon)
}

func TestTiming_JobDueInThePastRunsNow(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	create(a.Client, `{"scheduled_at":"2001-01-01","url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
}

func TestTiming_JobNeverRunsBeforeItsDueTime(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	record := create(a.Client, `{"schedule_in":0.75,"url":"`+target.URL+`"}`)
	due := instant(t, record.Get("job.scheduled_at"))
	hit := target.Await(t, 1, soon)[0]
	if hit.At.Before(due) {
		t.Errorf("due %s, sent %s", due, hit.At)
	}
}

func TestTiming_RepeatEveryRunsAtTheDueTimeThenEveryInterval(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	first := create(a.Client, `{"schedule_in":0.5,"repeat_every":1,"url":"`+target.URL+`"}`)
	target.Await(t, 3, soon)
	path := "/api/schedules/" + first.Get("schedule_id").Str()
	a.Post(path+"/disable", nil).Want(200)
	runs := a.Get("/api/jobs?order_by=scheduled_at&schedule_id=" + first.Get("schedule_id").Str()).Want(200).Data().Items()
	if len(runs) < 3 {
		t.Fatalf("want three runs and more: %s", runs)
	}
	due := instant(t, first.Get("job.scheduled_at"))
	for i, run := range runs {
		got := instant(t, run.Get("job.scheduled_at"))
		if got.Sub(due)%time.Second != 0 || i > 0 && !got.After(instant(t, runs[i-1].Get("job.scheduled_at"))) {
			t.Errorf("run %d is due %s, off the grid of %s", i, got, due)
		}
		wantSame(t, "args of every run", run.Get("args"), first.Get("args").Raw())
	}
	now := create(a.Client, with(idle, `"repeat_every":[1,"week"]`))
	wantBetween(t, "first due time", instant(t, now.Get("job.scheduled_at")), time.Now().Add(-soon), time.Now())
	later := create(a.Client, with(waiting, `"repeat_every":[1,"week"]`))
	wantSame(t, "first due time", later.Get("job.scheduled_at"), `"2031-05-06T07:08:09.000000Z"`)
}
