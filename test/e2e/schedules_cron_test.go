package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestScheduleCron_FirstTickIsAtOrAfterTheStart compares the first tick from a
// start with the expected one. 2031 begins on a Wednesday.
func TestScheduleCron_FirstTickIsAtOrAfterTheStart(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct{ start, cron, want string }{
		{"2031-01-01T00:00:00", "* * * * *", "2031-01-01T00:00:00"},
		{"2031-01-01T00:00:00.000001", "* * * * *", "2031-01-01T00:01:00"},
		{"2031-01-01T00:00:59", "* * * * *", "2031-01-01T00:01:00"},
		{"2031-01-01", "30 9 * * 1-5", "2031-01-01T09:30:00"},
		{"2031-01-04", "30 9 * * MON-FRI", "2031-01-06T09:30:00"},
		{"2031-01-01", "0 0 * * 0", "2031-01-05T00:00:00"},
		{"2031-01-01", "0 0 * * 7", "2031-01-05T00:00:00"},
		{"2031-01-01", "0 0 * * sun", "2031-01-05T00:00:00"},
		{"2031-01-01", "0 0 * * 5-7", "2031-01-03T00:00:00"},
		{"2031-01-01", "0 12 29 2 *", "2032-02-29T12:00:00"},
		{"2031-01-31T00:00:01", "0 0 31 * *", "2031-03-31T00:00:00"},
		{"2031-01-01", "15,45 */6 * * *", "2031-01-01T00:15:00"},
		{"2031-01-01T00:46:00", "15,45 */6 * * *", "2031-01-01T06:15:00"},
		{"2031-01-01", "3/20 * * * *", "2031-01-01T00:03:00"},
		{"2031-01-01T00:04:00", "3/20 * * * *", "2031-01-01T00:23:00"},
		{"2031-01-01T00:44:00", "3/20 * * * *", "2031-01-01T01:03:00"},
		{"2031-01-01T00:06:00", "0-10/5 * * * *", "2031-01-01T00:10:00"},
		{"2031-01-01T00:11:00", "0-10/5,50-59 * * * *", "2031-01-01T00:50:00"},
		{"2031-02-02", "0 0 1 jan,Dec *", "2031-12-01T00:00:00"},
		{"2031-02-02", "0 0 1 JAN-MAR *", "2031-03-01T00:00:00"},
		{"2031-01-01T00:00:01", "@hourly", "2031-01-01T01:00:00"},
		{"2031-01-01T00:00:01", "@daily", "2031-01-02T00:00:00"},
		{"2031-01-01", "@weekly", "2031-01-05T00:00:00"},
		{"2031-01-02", "@monthly", "2031-02-01T00:00:00"},
		{"2031-01-02", "@yearly", "2032-01-01T00:00:00"},
		// both days restricted: either matches
		{"2031-01-01", "0 0 13 * 5", "2031-01-03T00:00:00"},
		{"2031-01-11", "0 0 13 * 5", "2031-01-13T00:00:00"},
		// a field that begins with * is unrestricted, so both must match
		{"2031-01-04", "0 0 */2 * 5", "2031-01-17T00:00:00"},
		{"2031-01-01", "0 0 13 * */2", "2031-02-13T00:00:00"},
	}
	for _, test := range tests {
		t.Run(test.cron+" from "+test.start, func(t *testing.T) {
			record := create(a.For(t), `{"url":"https://example.com","scheduled_at":"`+test.start+`","cron":"`+test.cron+`"}`)
			wantSame(t, "first run", record.Get("job.scheduled_at"), quote(test.want+".000000Z"))
			wantSame(t, "args.cron", record.Get("args.cron"), quote(test.cron))
		})
	}
}

// TestScheduleCron_FollowsTheClockOfItsTimezone covers the two changes of 2031. New
// York goes forward on 9 March at 07:00Z and back on 2 November at 06:00Z, Berlin
// on 30 March and 26 October, both at 01:00Z.
func TestScheduleCron_FollowsTheClockOfItsTimezone(t *testing.T) {
	t.Parallel()
	a := account(t)
	const newYork, berlin = "America/New_York", "Europe/Berlin"
	tests := []struct{ start, cron, zone, want string }{
		{"2031-01-01", "0 9 * * *", "UTC", "2031-01-01T09:00:00"},
		{"2031-01-01", "0 9 * * *", berlin, "2031-01-01T08:00:00"},
		{"2031-07-01", "0 9 * * *", berlin, "2031-07-01T07:00:00"},
		{"2031-01-01", "0 9 * * *", "Asia/Kolkata", "2031-01-01T03:30:00"},
		{"2031-01-01", "0 0 * * *", "Pacific/Auckland", "2031-01-01T11:00:00"},
		{"2031-01-01", "@daily", newYork, "2031-01-01T05:00:00"},
		{"2031-01-03", "0 20 * * 5", newYork, "2031-01-04T01:00:00"},
		// a fixed time in the gap: the first instant after it
		{"2031-03-09T05:00:00", "30 2 * * *", newYork, "2031-03-09T07:00:00"},
		{"2031-03-30T00:00:00", "15 2 * * *", berlin, "2031-03-30T01:00:00"},
		// a fixed time that occurs twice: once, the first time
		{"2031-11-02T05:00:00", "30 1 * * *", newYork, "2031-11-02T05:30:00"},
		{"2031-11-02T05:31:00", "30 1 * * *", newYork, "2031-11-03T06:30:00"},
		{"2031-10-26T00:31:00", "30 2 * * *", berlin, "2031-10-27T01:30:00"},
		// minute or hour begins with *: the clock on the wall, minute by minute
		{"2031-11-02T05:46:00", "*/15 * * * *", newYork, "2031-11-02T06:00:00"},
		{"2031-11-02T05:31:00", "30 * * * *", newYork, "2031-11-02T06:30:00"},
		{"2031-11-02T05:31:00", "*/30 1 * * *", newYork, "2031-11-02T06:00:00"},
		{"2031-03-09T06:46:00", "*/15 * * * *", newYork, "2031-03-09T07:00:00"},
		{"2031-03-09T05:00:00", "*/30 2 * * *", newYork, "2031-03-10T06:00:00"},
	}
	for _, test := range tests {
		t.Run(test.cron+" from "+test.start+" in "+test.zone, func(t *testing.T) {
			record := create(a.For(t), `{"url":"https://example.com","scheduled_at":"`+test.start+
				`","cron":"`+test.cron+`","timezone":"`+test.zone+`"}`)
			wantSame(t, "first run", record.Get("job.scheduled_at"), quote(test.want+".000000Z"))
		})
	}
}

func TestScheduleCron_WithoutAFutureStartTicksFromNow(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, start := range []string{"", `"scheduled_at":"2001-01-01"`, `"schedule_in":0`} {
		before := time.Now()
		record := create(a.Client, with(with(idle, `"cron":"* * * * *"`), start))
		got := instant(t, record.Get("job.scheduled_at"))
		wantBetween(t, "first run "+start, got, before, time.Now().Add(time.Minute))
		if got.Second() != 0 || got.Nanosecond() != 0 {
			t.Errorf("the tick %s is not on the minute", got)
		}
		a.Do("DELETE", "/api/schedules/"+record.Get("schedule_id").Str(), nil).Want(204)
	}
	before := time.Now()
	record := create(a.Client, with(idle, `"schedule_in":[2,"hours"],"cron":"* * * * *"`))
	wantBetween(t, "first run with schedule_in", instant(t, record.Get("job.scheduled_at")),
		before.Add(2*time.Hour), time.Now().Add(2*time.Hour+time.Minute))
}

func TestScheduleCron_InvalidExpressionsAreRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, cron := range []string{
		"", " ", "*", "* * * *", "0 0 9 * * 1", "* * * * * *", "@reboot", "@every 5m", "@noon", "nonsense",
		"60 * * * *", "-1 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *", "* * * * 8",
		"*/0 * * * *", "10-5 * * * *", "* 5-1 * * *", "* * * DEC-JAN *", "1,,2 * * * *", "1- * * * *", "/5 * * * *",
		"* * * FOO *", "* * * * MONDAY", "JAN * * * *", "1.5 * * * *", "0x1 * * * *", "* L * * *", "99999999999999999999 * * * *",
		"0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 FEB *",
	} {
		t.Run(cron, func(t *testing.T) {
			a.For(t).Post("/api/jobs", with(waiting, `"cron":`+quote(cron))).WantPointers("#/cron")
		})
	}
	for _, cron := range []string{`5`, `true`, `["* * * * *"]`, `{}`} {
		a.Post("/api/jobs", with(waiting, `"cron":`+cron)).WantPointers("#/cron")
	}
}

func TestScheduleCron_ZoneInTheExpressionIsRefusedNamingTimezone(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, cron := range []string{"TZ=UTC 0 9 * * *", "CRON_TZ=Europe/Berlin 0 9 * * *"} {
		answer := a.Post("/api/jobs", with(waiting, `"cron":`+quote(cron))).WantPointers("#/cron")
		if !slices.ContainsFunc(answer.Problems(), func(p harness.Problem) bool { return strings.Contains(p.Detail, "timezone") }) {
			t.Errorf("the sentence does not name timezone: %s", answer)
		}
	}
}

func TestScheduleCron_TimezoneIsIANAAndNeedsCron(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, fields := range []string{
		`"timezone":"UTC"`, `"timezone":"Europe/Berlin","repeat_every":60`,
		`"cron":"@daily","timezone":"Mars/Phobos"`, `"cron":"@daily","timezone":"Local"`,
		`"cron":"@daily","timezone":"+02:00"`, `"cron":"@daily","timezone":"../../etc/passwd"`,
		`"cron":"@daily","timezone":1`, `"cron":"@daily","timezone":["UTC"]`,
	} {
		t.Run(fields, func(t *testing.T) {
			a.For(t).Post("/api/jobs", with(waiting, fields)).WantPointers("#/timezone")
		})
	}
}

// TestScheduleCron_RunsStartOnTheTick waits for the next minute to begin.
func TestScheduleCron_RunsStartOnTheTick(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes up to a minute")
	}
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	first := create(a.Client, `{"cron":"* * * * *","url":"`+target.URL+`"}`)
	due := instant(t, first.Get("job.scheduled_at"))
	if due.Second() != 0 || due.Nanosecond() != 0 || time.Until(due) > time.Minute {
		t.Errorf("the first run is due %s, want the next minute's beginning", due)
	}
	hit := target.Await(t, 1, time.Minute+soon)[0]
	if late := hit.At.Sub(due); late < 0 || late > harness.Allowed(soon, due) {
		t.Errorf("the run was %s late", late)
	}
	awaitState(t, a.Client, first, "completed")
	left := unfinished(a.Client, first.Get("schedule_id").Str())
	if len(left) != 1 || !instant(t, left[0].Get("job.scheduled_at")).Equal(due.Add(time.Minute)) {
		t.Errorf("want the next run a minute later: %s", left)
	}
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
}
