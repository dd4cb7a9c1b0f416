package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// clockTime returns a time on the day of the tests: "12:00" or "12:00:05".
func clockTime(t *testing.T, clock string) time.Time {
	t.Helper()
	if clock == "" {
		return time.Time{}
	}
	at, err := schedule.ParseInstant("2026-03-01T" + clock + "Z")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// every10 returns a schedule with a point every ten minutes since 09:00.
func every10(t *testing.T, members string) *job.Schedule {
	return &job.Schedule{
		ID: uuid.New(), InsertedAt: clockTime(t, "08:00"), FirstDue: clockTime(t, "09:00"),
		Args: rawjson.Value(`{"url":"https://example.com/","repeat_every":600` + members + `}`),
	}
}

// describe returns what a final run means for its schedule: "12:10", "12:40 after 3
// overlap 12:10-12:30", or "ends: max_runs".
func (s successor) describe() string {
	text := s.due.Format("15:04")
	if s.end != "" {
		text = "ends: " + string(s.end)
	}
	for _, skipped := range s.skipped {
		text += fmt.Sprintf(" after %d %s %s-%s", skipped.Count, skipped.reason, skipped.From.Format("15:04"), skipped.To.Format("15:04"))
	}
	return text
}

func TestPlan_After(t *testing.T) {
	for _, c := range []struct {
		name, members           string
		due, started, now, want string
		expired, held           bool
		next                    string
	}{
		{name: "on time", due: "12:00", started: "12:00:01", now: "12:00:05", want: "12:10"},
		{name: "cancelled before due", due: "12:00", now: "11:00", want: "12:10"},
		{name: "final just before the next", due: "12:00", started: "12:00", now: "12:09:59", want: "12:10"},
		{name: "final at the next", due: "12:00", started: "12:00", now: "12:10", want: "12:10"},
		{name: "long run covers one", due: "12:00", started: "12:00", now: "12:15", want: "12:10"},
		{name: "long run covers several", due: "12:00", started: "12:00", now: "12:45", want: "12:40 after 3 overlap 12:10-12:30"},
		{name: "late start, short run", due: "12:00", started: "12:41", now: "12:42", want: "12:50"},
		{name: "start on a point", due: "12:00", started: "12:40", now: "12:42", want: "12:50"},
		{name: "late start, long run", due: "12:00", started: "12:39", now: "12:55", want: "12:50 after 1 overlap 12:40-12:40"},
		{name: "cancelled late", due: "12:00", now: "12:45", want: "12:50 after 4 down 12:10-12:40"},
		{name: "start before due", due: "12:00", started: "11:00", now: "12:05", want: "12:10"},
		{name: "clock set back", due: "12:00", started: "13:05", now: "12:45", want: "12:50"},

		{name: "expired", members: `,"expires_in":60`, due: "12:00", now: "12:45", expired: true,
			want: "12:50 after 4 expired 12:10-12:40"},
		{name: "expired, the latest has not", members: `,"expires_in":600`, due: "12:00", now: "12:45", expired: true,
			want: "12:40 after 3 expired 12:10-12:30"},
		{name: "expired, the latest is about to", members: `,"expires_in":300`, due: "12:00", now: "12:45", expired: true,
			want: "12:40 after 3 expired 12:10-12:30"},
		{name: "expired at once", members: `,"expires_in":60`, due: "12:00", now: "12:01:01", expired: true, want: "12:10"},

		{name: "none, expired", members: `,"catch_up":"none"`, due: "12:00", now: "12:45", expired: true,
			want: "12:50 after 4 expired 12:10-12:40"},
		{name: "none, long run", members: `,"catch_up":"none"`, due: "12:00", started: "12:00", now: "12:45",
			want: "12:40 after 3 overlap 12:10-12:30"},

		{name: "all, on time", members: `,"catch_up":"all"`, due: "12:00", started: "12:00", now: "12:05", want: "12:10"},
		{name: "all, long run", members: `,"catch_up":"all"`, due: "12:00", started: "12:00", now: "12:45", want: "12:10"},
		{name: "all, late run", members: `,"catch_up":"all"`, due: "12:10", started: "12:45", now: "12:46", want: "12:20"},
		{name: "all, cancelled late", members: `,"catch_up":"all"`, due: "12:00", now: "12:45", want: "12:10"},

		{name: "held back, then late", held: true, due: "12:00", started: "12:25", now: "12:45", want: "12:40 after 1 overlap 12:30-12:30"},
		{name: "held back, cancelled", held: true, due: "12:00", now: "12:45", want: "12:50 after 4 limit 12:10-12:40"},
		{name: "held back, expired", members: `,"catch_up":"none"`, held: true, expired: true, due: "12:00", now: "12:45",
			want: "12:50 after 4 limit 12:10-12:40"},

		{name: "the last", members: `,"ends_at":"2026-03-01T12:09:59Z"`, due: "12:00", started: "12:00", now: "12:05",
			want: "ends: ends_at"},
		{name: "the last but one", members: `,"ends_at":"2026-03-01T12:10:00Z"`, due: "12:00", started: "12:00", now: "12:05",
			want: "12:10"},
		{name: "a late one is the last", members: `,"ends_at":"2026-03-01T12:30:00Z"`, due: "12:00", started: "12:00", now: "12:45",
			want: "12:30 after 2 overlap 12:10-12:20"},
		{name: "ended meanwhile", members: `,"ends_at":"2026-03-01T12:30:00Z"`, due: "12:00", started: "12:31", now: "12:45",
			want: "ends: ends_at"},
		{name: "cancelled late, ended meanwhile", members: `,"ends_at":"2026-03-01T12:30:00Z"`, due: "12:00", now: "12:45",
			want: "ends: ends_at after 3 down 12:10-12:30"},
		{name: "next, before a point", next: "12:09", due: "12:00", started: "12:00", now: "12:05", want: "12:09"},
		{name: "next, on a point", next: "12:10", due: "12:00", started: "12:00", now: "12:05", want: "12:10"},
		{name: "next, after points", next: "12:31", due: "12:00", started: "12:00", now: "12:05", want: "12:31 after 3 next 12:10-12:30"},
		{name: "next, on a later point", next: "12:30", due: "12:00", started: "12:00", now: "12:05",
			want: "12:30 after 2 next 12:10-12:20"},
		{name: "next, after a long run", next: "12:45", due: "12:00", started: "12:00", now: "12:25",
			want: "12:45 after 2 overlap 12:10-12:20 after 2 next 12:30-12:40"},
		{name: "next, a point as the run ends", next: "12:35", due: "12:00", started: "12:00", now: "12:20",
			want: "12:35 after 2 overlap 12:10-12:20 after 1 next 12:30-12:30"},
		{name: "next, all", members: `,"catch_up":"all"`, next: "12:25", due: "12:00", started: "12:00", now: "12:05",
			want: "12:25 after 2 next 12:10-12:20"},
		{name: "next, after the end", members: `,"ends_at":"2026-03-01T12:30:00Z"`, next: "12:45", due: "12:00", started: "12:00",
			now: "12:05", want: "ends: ends_at after 3 next 12:10-12:30"},

		{name: "excluded dates", members: `,"except":["2026-03-01/2026-03-02"]`, due: "12:00", started: "12:00", now: "12:45",
			want: "00:00"},
		{name: "the last of all runs", members: `,"max_runs":8`, due: "12:00", started: "12:00", now: "12:45", want: "ends: max_runs"},
		{name: "not the last of all runs", members: `,"max_runs":9`, due: "12:00", started: "12:00", now: "12:05", want: "12:10"},
	} {
		p := planOf(every10(t, c.members))
		j := &job.Job{InsertedAt: clockTime(t, "08:00"), ScheduledAt: clockTime(t, c.due), AttemptedAt: clockTime(t, c.started), Runs: 7}
		r := pastRun{Job: j, now: clockTime(t, c.now), started: clockTime(t, c.started), counts: true, expired: c.expired, held: c.held}
		if c.next != "" {
			r.next = clockTime(t, c.next)
		}
		if got := p.after(r).describe(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPlan_AfterCountsRunsThatWereNotCancelled(t *testing.T) {
	p := planOf(every10(t, `,"max_runs":8`))
	j := &job.Job{InsertedAt: clockTime(t, "08:00"), ScheduledAt: clockTime(t, "12:00"), Runs: 7}
	if next := p.after(pastRun{Job: j, now: clockTime(t, "12:05")}); next.end != "" || next.runs != 7 {
		t.Errorf("after a cancelled run: %s, %d runs", next.describe(), next.runs)
	}
	if next := p.after(pastRun{Job: j, now: clockTime(t, "12:05"), counts: true}); next.end != job.EndedMaxRuns || next.runs != 8 {
		t.Errorf("after the last run: %s, %d runs", next.describe(), next.runs)
	}
}

func TestPlan_AfterLeavesOutPointsBeforeSince(t *testing.T) {
	for catchUp, want := range map[string]string{"one": "12:40 after 1 overlap 12:30-12:30", "all": "12:30"} {
		s := every10(t, `,"catch_up":"`+catchUp+`"`)
		s.Since = clockTime(t, "12:25")
		j := &job.Job{InsertedAt: clockTime(t, "08:00"), ScheduledAt: clockTime(t, "12:00"), AttemptedAt: clockTime(t, "12:00")}
		r := pastRun{Job: j, now: clockTime(t, "12:45"), started: j.AttemptedAt, counts: true}
		if got := planOf(s).after(r).describe(); got != want {
			t.Errorf("%s: %q, want %q", catchUp, got, want)
		}
	}
}

func TestPlan_AllMakesUpForTheLatestThousand(t *testing.T) {
	s := every10(t, `,"catch_up":"all"`)
	s.Args = rawjson.Value(`{"url":"https://example.com/","repeat_every":1,"catch_up":"all"}`)
	j := &job.Job{InsertedAt: clockTime(t, "08:00"), ScheduledAt: clockTime(t, "10:00"), AttemptedAt: clockTime(t, "11:00")}
	next := planOf(s).after(pastRun{Job: j, now: clockTime(t, "12:00"), started: j.AttemptedAt, counts: true})
	if want := clockTime(t, "12:00").Add(-999 * time.Second); !next.due.Equal(want) {
		t.Errorf("the next run is due at %v, want %v", next.due, want)
	}
	if got := next.describe(); got != "11:43 after 3600 down 10:00-11:00 after 2600 overlap 11:00-11:43" {
		t.Errorf("%s", got)
	}
}

func TestPlan_AllBlamesTheRunBeforeForPointsThatPassedBeforeARun(t *testing.T) {
	s := every10(t, `,"catch_up":"all"`)
	s.Args = rawjson.Value(`{"url":"https://example.com/","repeat_every":1,"catch_up":"all"}`)
	j := &job.Job{InsertedAt: clockTime(t, "11:00"), ScheduledAt: clockTime(t, "10:00"), AttemptedAt: clockTime(t, "11:00")}
	next := planOf(s).after(pastRun{Job: j, now: clockTime(t, "12:00"), started: j.AttemptedAt, counts: true})
	if got := next.describe(); got != "11:43 after 6200 overlap 10:00-11:43" {
		t.Errorf("%s", got)
	}
}

// TestDisable_SaysWhyPointsHaveNoRun disables a schedule at 12:35, with points every
// ten minutes and a run that was due at 12:00.
func TestDisable_SaysWhyPointsHaveNoRun(t *testing.T) {
	for name, c := range map[string]struct {
		inserted, attempted, claimed string
		want                         map[string]string
	}{
		"waits":            {"11:50", "", "", map[string]string{"one": "10-30 down", "all": "10-30 down"}},
		"has just started": {"11:50", "", "12:32", map[string]string{"one": "10-30 down", "all": "10-30 down"}},
		"started in time":  {"11:50", "", "12:00", map[string]string{"one": "10-30 overlap", "all": "10-30 overlap"}},
		"started late": {"11:50", "", "12:15",
			map[string]string{"one": "10-10 down, 20-30 overlap", "all": "10-10 down, 20-30 overlap"}},
		"followed a long run": {"12:25", "", "12:25", map[string]string{"one": "30-30 overlap", "all": "10-30 overlap"}},
		"has failed once":     {"12:25", "12:25", "", map[string]string{"one": "30-30 overlap", "all": "10-30 overlap"}},
		"followed and started late": {"12:15", "", "12:25",
			map[string]string{"one": "20-20 down, 30-30 overlap", "all": "10-20 down, 30-30 overlap"}},
		"is about to start": {"12:25", "", "12:35:01", map[string]string{"one": "30-30 down", "all": "10-30 down"}},
	} {
		for catchUp, want := range c.want {
			s := every10(t, `,"catch_up":"`+catchUp+`"`)
			m := &store.Snapshot{Now: clockTime(t, "12:35"), Schedule: s, Job: &job.Job{
				Number: 1, ScheduleID: s.ID, InsertedAt: clockTime(t, c.inserted), ScheduledAt: clockTime(t, "12:00"),
				DueAt: clockTime(t, c.inserted), AttemptedAt: clockTime(t, c.attempted), Args: s.Args,
			}}
			if c.claimed != "" {
				m.Claim = &store.ClaimInfo{Node: 1, Attempt: 1, StartAt: clockTime(t, c.claimed)}
			}
			changed := *s
			var got []string
			for _, l := range settle(m, &changed) {
				var p struct {
					From, To time.Time
					Reason   string
				}
				if err := json.Unmarshal(l.Payload, &p); err != nil {
					t.Fatal(err)
				}
				got = append(got, p.From.Format("04")+"-"+p.To.Format("04")+" "+p.Reason)
			}
			if text := strings.Join(got, ", "); text != want {
				t.Errorf("a run that %s, catch_up %s: %s, want %s", name, catchUp, text, want)
			}
		}
	}
}

func TestDeadline(t *testing.T) {
	inserted := clockTime(t, "11:00")
	for _, c := range []struct {
		name, members   string // of a one-off job without every
		every           bool
		state           job.State
		scheduled, due  string
		want            string
		insertedWithJob bool // the schedule
	}{
		{name: "no limit", state: job.Available, scheduled: "12:00", due: "12:00"},
		{name: "one-off", members: `,"expires_in":60`, state: job.Available, scheduled: "12:00", due: "12:00", want: "12:01:00"},
		{name: "one-off in the past", members: `,"expires_in":60`, state: job.Available, scheduled: "09:00", due: "11:00",
			want: "11:01:00"},
		{name: "retry of a one-off", members: `,"expires_in":60`, state: job.Retryable, scheduled: "12:00", due: "12:30", want: "12:01:00"},
		{name: "retry of a one-off in the past", members: `,"expires_in":60`, state: job.Retryable, scheduled: "09:00", due: "12:30",
			want: "11:01:00"},
		{name: "run", every: true, members: `,"expires_in":60`, state: job.Available, scheduled: "12:00", due: "12:00", want: "12:01:00"},
		{name: "late run", every: true, members: `,"expires_in":60`, state: job.Available, scheduled: "10:00", due: "11:00",
			want: "10:01:00"},
		{name: "first run in the past", every: true, members: `,"expires_in":60`, state: job.Available, scheduled: "09:00", due: "11:00",
			insertedWithJob: true, want: "11:01:00"},
		{name: "before the next", every: true, members: `,"catch_up":"none"`, state: job.Available, scheduled: "12:00", due: "12:00",
			want: "12:09:59.999999"},
		{name: "the earlier of two", every: true, members: `,"catch_up":"none","expires_in":[1,"hour"]`, state: job.Available,
			scheduled: "12:00", due: "12:00", want: "12:09:59.999999"},
		{name: "first run in the past, before the next", every: true, members: `,"catch_up":"none"`, state: job.Available,
			scheduled: "09:00", due: "11:00", insertedWithJob: true, want: "11:09:59.999999"},
	} {
		j := &job.Job{State: c.state, InsertedAt: inserted, ScheduledAt: clockTime(t, c.scheduled), DueAt: clockTime(t, c.due)}
		spec := job.ReadSpec(rawjson.Value(`{"url":"https://example.com/"` + c.members + `}`))
		var p *plan
		if c.every {
			s := every10(t, c.members)
			if c.insertedWithJob {
				s.InsertedAt = inserted
			}
			p = planOf(s)
		}
		d := deadlineOf(j, &spec, p)
		if !d.at.Equal(clockTime(t, c.want)) {
			t.Errorf("%s: %v, want %s", c.name, d.at, c.want)
		}
		if c.want != "" && (d.passed(d.at) || !d.passed(d.at.Add(1))) {
			t.Errorf("%s: the deadline itself is not in time, or what is later is", c.name)
		}
	}
}

func TestEnable_RefusesAScheduleThatHasEnded(t *testing.T) {
	now := clockTime(t, "12:00")
	for _, c := range []struct {
		members string
		ended   job.End
		runs    int64
		want    string
	}{
		{`,"max_runs":3`, job.EndedMaxRuns, 3, "max_runs"},
		{`,"max_runs":4`, job.EndedMaxRuns, 3, ""},
		{`,"ends_at":"2026-03-01T11:55:00Z"`, job.EndedAt, 3, "ends_at"},
		{`,"ends_at":"2026-03-01T12:00:00Z"`, job.EndedAt, 3, ""},
		{``, job.EndedStop, 3, "$stop"},
		{``, "", 3, ""},
	} {
		s := every10(t, c.members)
		s.DisabledAt, s.Ended, s.Runs = now.Add(-time.Minute), c.ended, c.runs
		changes, err := Enable(&store.Snapshot{Now: now, Schedule: s})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || changes != nil {
				t.Errorf("%s, ended by %q: %+v, %v", c.members, c.ended, changes, err)
			}
			continue
		}
		if err != nil || changes.Schedule.Ended != "" || !changes.Next.Job.ScheduledAt.Equal(now) || changes.Next.Job.Runs != c.runs {
			t.Errorf("%s, ended by %q: %+v, %v", c.members, c.ended, changes, err)
		}
	}
}

func TestPointsOf(t *testing.T) {
	s := every10(t, "")
	j := &job.Job{Number: 1, State: job.Completed, ScheduleID: s.ID, InsertedAt: clockTime(t, "08:00"), ScheduledAt: clockTime(t, "12:30")}
	show := func(logs ...*job.Log) string {
		p := PointsOf(j, s, logs)
		return fmt.Sprintf("%d %s-%s", p.Count, p.From.Format("15:04"), p.To.Format("15:04"))
	}
	log := func(count int64, from, to string, reason SkipReason) *job.Log {
		l := skip{schedule.Points{Count: count, From: clockTime(t, from), To: clockTime(t, to)}, reason}.log(j, clockTime(t, "12:30"))
		return &l
	}
	if got := show(); got != "1 12:30-12:30" {
		t.Errorf("nothing missed: %s", got)
	}
	if got := show(log(2, "12:10", "12:20", SkippedOverlap), log(3, "12:40", "13:00", SkippedDown)); got != "6 12:10-13:00" {
		t.Errorf("before and after: %s", got)
	}
	j.State, j.AttemptedAt = job.Executing, clockTime(t, "12:55")
	if got := show(); got != "3 12:30-12:50" {
		t.Errorf("under way, late: %s", got)
	}
	if PointsOf(&job.Job{}, nil, nil) != nil {
		t.Error("a one-off job has points")
	}
}

func TestUpcomingAndRunsLeft(t *testing.T) {
	now := clockTime(t, "11:55")
	s := every10(t, `,"max_runs":10,"ends_at":"2026-03-01T12:20:00Z"`)
	pending := &job.Job{State: job.Available, ScheduledAt: clockTime(t, "12:00"), Runs: 3}
	running := &job.Job{State: job.Executing, ScheduledAt: clockTime(t, "11:50"), Runs: 8}
	for _, c := range []struct {
		name       string
		unfinished *job.Job
		left       int64
		want       string
	}{
		{"pending", pending, 7, "12:00 12:10 12:20"}, {"under way", running, 2, "12:00"},
		{"moved", &job.Job{State: job.Available, ScheduledAt: clockTime(t, "12:03")}, 10, "12:03 12:10 12:20"},
	} {
		var got []string
		for _, due := range Upcoming(s, c.unfinished, now, 5) {
			got = append(got, due.Format("15:04"))
		}
		if left := RunsLeft(s, c.unfinished); *left != c.left || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %d left, %s", c.name, *left, got)
		}
	}
	if RunsLeft(every10(t, ""), pending) != nil {
		t.Error("a schedule without max_runs has a number of runs left")
	}
	s.DisabledAt, s.Runs = now, 10
	if left := RunsLeft(s, nil); *left != 0 || Upcoming(s, nil, now, 5) != nil {
		t.Errorf("disabled: %d left, %v", *left, Upcoming(s, nil, now, 5))
	}
}
