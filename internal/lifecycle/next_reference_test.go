package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// The reference knows a schedule's points as a list, which it makes by looking at a
// clock every minute, and chooses the next run from it by the words of the promise.

// refFrequency is a frequency and a slow way to list its points from begin to end.
type refFrequency struct {
	members  string
	points   func(begin, end time.Time) []time.Time
	interval bool // repeat_every
}

func everySeconds(n int) refFrequency {
	return refFrequency{members: fmt.Sprintf(`"repeat_every":%d`, n), interval: true, points: func(begin, end time.Time) (all []time.Time) {
		for p := begin; p.Before(end); p = p.Add(time.Duration(n) * time.Second) {
			all = append(all, p)
		}
		return all
	}}
}

// everyMinutes is matched against the clock on the wall, through gap and overlap.
func everyMinutes(n int, zone *time.Location) refFrequency {
	return refFrequency{members: fmt.Sprintf(`"cron":"*/%d * * * *","timezone":"%s"`, n, zone),
		points: func(begin, end time.Time) (all []time.Time) {
			for p := begin.Truncate(time.Minute); p.Before(end); p = p.Add(time.Minute) {
				if !p.Before(begin) && p.In(zone).Minute()%n == 0 {
					all = append(all, p)
				}
			}
			return all
		}}
}

// atHalfPast has fixed times: one in a gap is at the first instant after it, one that
// occurs twice at the first time.
func atHalfPast(hours string, list []int, zone *time.Location) refFrequency {
	return refFrequency{members: fmt.Sprintf(`"cron":"30 %s * * *","timezone":"%s"`, hours, zone),
		points: func(begin, end time.Time) (all []time.Time) {
			for day := begin.Add(-48 * time.Hour).In(zone); day.Before(end); day = day.AddDate(0, 0, 1) {
				for _, hour := range list {
					wanted := time.Date(day.Year(), day.Month(), day.Day(), hour, 30, 0, 0, time.UTC)
					p := wanted.Add(-24 * time.Hour)
					for reading(p, zone).Before(wanted) {
						p = p.Add(time.Minute)
					}
					if !p.Before(begin) && p.Before(end) {
						all = append(all, p)
					}
				}
			}
			slices.SortFunc(all, time.Time.Compare)
			return slices.CompactFunc(all, time.Time.Equal)
		}}
}

// reading returns what a clock in a zone shows, as if it were UTC.
func reading(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.Add(time.Duration(offset) * time.Second)
}

// refWorld is a scheduleWorld beside the reference.
type refWorld struct {
	*scheduleWorld
	end     time.Time // of the world
	points  []time.Time
	first   time.Time // of the points
	since   time.Time // of the points that count: when the schedule was enabled or edited
	due     time.Time // of the pending run, by the reference
	catchUp string
	expires time.Duration // 0 for none
}

func drawFrequency(t *rapid.T, zone *time.Location) refFrequency {
	return rapid.SampledFrom([]refFrequency{
		everySeconds(30), everySeconds(60), everySeconds(1700), everyMinutes(5, zone), everyMinutes(20, zone),
		atHalfPast("1", []int{1}, zone), atHalfPast("0-3", []int{0, 1, 2, 3}, zone),
	}).Draw(t, "frequency")
}

// newRefWorld creates a schedule on the day before a change of the clock.
func newRefWorld(t *rapid.T, zone *time.Location) *refWorld {
	day := rapid.SampledFrom([]time.Time{time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC),
		time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC)}).Draw(t, "day")
	now := day.Add(time.Duration(rapid.IntRange(0, 14*3600).Draw(t, "begin")) * time.Second)
	f := drawFrequency(t, zone)
	w := &refWorld{scheduleWorld: &scheduleWorld{T: t, now: now}, end: now.Add(10 * 24 * time.Hour),
		catchUp: rapid.SampledFrom(catchUpNames).Draw(t, "catch up")}
	members := f.members + `,"retries":0,"catch_up":"` + w.catchUp + `"`
	if rapid.IntRange(0, 2).Draw(t, "expires") == 0 {
		seconds := rapid.IntRange(1, 3000).Draw(t, "expires in")
		w.expires = time.Duration(seconds) * time.Second
		members += fmt.Sprintf(`,"expires_in":%d`, seconds)
	}
	draft, err := job.Read(rawjson.Value(`{"url":"https://example.com/",`+members+`}`), job.ReadOptions{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	w.spec = draft.Spec
	w.s = &job.Schedule{ID: draft.ScheduleID, InsertedAt: now, FirstDue: draft.Grid.Begin, Args: draft.Args}
	w.jobs = []*job.Job{{Number: 1, ScheduleID: w.s.ID, InsertedAt: now, ScheduledAt: draft.ScheduledAt, DueAt: draft.DueAt,
		State: job.Available, Args: draft.Args}}
	w.begin(f)
	return w
}

// begin makes a frequency's points from now on the schedule's, and the first of them
// the pending run. An interval begins at the old first time if that is ahead.
func (w *refWorld) begin(f refFrequency) {
	begin := w.now
	if f.interval {
		begin = schedule.Later(begin, w.first)
	}
	w.points, w.since = f.points(begin, w.end), w.now
	w.due = w.from(begin)
	w.first = w.due
}

// from returns the first point that is not before a time.
func (w *refWorld) from(at time.Time) time.Time {
	for _, p := range w.points {
		if !p.Before(at) {
			return p
		}
	}
	w.Fatal("the world is too short")
	return time.Time{}
}

// after returns the first point after a time.
func (w *refWorld) after(at time.Time) time.Time { return w.from(at.Add(time.Microsecond)) }

// passed returns the points in (after, upTo].
func (w *refWorld) passed(after, upTo time.Time) (all []time.Time) {
	for _, p := range w.points {
		if p.After(after) && !p.After(upTo) {
			all = append(all, p)
		}
	}
	return all
}

// expected returns whether a run that could start at a time is discarded instead, and
// what follows it when it is final.
func (w *refWorld) expected(start, end time.Time) (expired bool, next time.Time) {
	expired = w.expires > 0 && start.After(w.due.Add(w.expires)) || w.catchUp == "none" && !w.after(w.due).After(start)
	if ahead := w.after(w.due); ahead.After(end) {
		return expired, ahead
	}
	late := w.passed(schedule.Later(w.due, w.since), end)
	switch {
	case w.catchUp == "all":
		if len(late) > 0 {
			return expired, late[max(0, len(late)-1000)]
		}
	case expired && w.catchUp == "none":
	case expired: // one late run makes up for it, if that is in time
		if n := len(late); n > 0 && !end.After(late[n-1].Add(w.expires)) {
			return expired, late[n-1]
		}
	default: // what passed before the start, the run stood for
		if late = w.passed(start, end); len(late) > 0 {
			return expired, late[len(late)-1]
		}
	}
	return expired, w.after(end)
}

// step carries out the pending run, after a delay as by an outage.
func (w *refWorld) step(delay, takes time.Duration) {
	j := w.unfinished()
	start := schedule.Later(w.now, j.DueAt).Add(delay)
	end := start.Add(takes + time.Microsecond)
	expired, next := w.expected(start, end)
	due := w.due
	w.run(delay, takes, rapid.SampledFrom([]int{200, 200, 500}).Draw(w.T, "status"), false)
	if got := j.State == job.Discarded && j.AttemptedAt.IsZero(); got != expired {
		w.Fatalf("the run due %v that could start at %v: expired %t, want %t", due, start, got, expired)
	}
	w.due = next
}

// disable disables the schedule and enables it after a while.
func (w *refWorld) disable(before, off time.Duration) {
	w.now = w.now.Add(before)
	w.toggle(nil)
	if w.unfinished() != nil {
		w.Fatal("a disabled schedule has a pending run")
	}
	w.now = w.now.Add(off)
	w.toggle(nil)
	w.since = w.now
	w.due = w.from(w.now)
}

// edit gives the schedule another frequency before its pending run is due.
func (w *refWorld) edit(f refFrequency) {
	w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(w.unfinished().DueAt.Sub(w.now)-200*time.Millisecond)).Draw(w.T,
		"edit after")).Truncate(time.Microsecond))
	e, err := job.ReadScheduleEdit(w.s, rawjson.Value(`{`+f.members+`}`), job.ReadOptions{Now: w.now})
	if err != nil {
		w.Fatal(err)
	}
	m := &store.Snapshot{Now: w.now, Job: w.unfinished(), Schedule: w.s}
	before := w.s.Args
	w.apply(EditSchedule(e, editor, notStarted)(m))
	if string(before) != string(w.s.Args) {
		w.begin(f)
	}
}

// TestNext_ChoosesWhatTheReferenceChooses runs schedules through outages, long runs,
// pauses and edits around changes of the clock.
func TestNext_ChoosesWhatTheReferenceChooses(t *testing.T) {
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		w := newRefWorld(t, zone)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if j := w.unfinished(); j == nil || !j.ScheduledAt.Equal(w.due) {
				t.Fatalf("with catch_up %s and expires_in %s the next run at %v is %+v, want it due %v", w.catchUp, w.expires, w.now, j,
					w.due)
			}
			if w.now.After(w.end.Add(-6 * 24 * time.Hour)) {
				break // the points end
			}
			ahead := w.unfinished().DueAt.Sub(w.now)
			switch action := rapid.IntRange(0, 9).Draw(t, "action"); {
			case action == 0:
				w.disable(w.outage("wait"), w.outage("off"))
			case action == 1 && ahead > time.Second:
				w.edit(drawFrequency(t, zone))
			default:
				w.step(w.outage("outage"), w.outage("takes"))
			}
		}
	})
}

// outage draws a time that is mostly short, and sometimes many points long.
func (w *refWorld) outage(label string) time.Duration {
	return min(w.seconds(label), 20*time.Hour)
}
