package stats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// at returns a time in November 2026.
func at(clock string) time.Time {
	t, err := time.Parse("02 15:04:05", clock)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 11, t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

const november = 2026*12 + 10

// made returns a run that was due and began at times, and took a second.
func made(state job.State, due, start string) store.EndedRun {
	begin := at(start)
	return store.EndedRun{State: state, InsertedAt: at("01 00:00:00"), ScheduledAt: at(due), DueAt: at(due), AttemptedAt: begin,
		EndedAt: begin.Add(time.Second)}
}

func changed(run store.EndedRun, change func(*store.EndedRun)) store.EndedRun {
	change(&run)
	return run
}

func skip(reason, from, to string, count int) rawjson.Value {
	return rawjson.Value(fmt.Sprintf(`{"count":%d,"from":%q,"to":%q,"reason":%q}`, count, job.FormatTime(at(from)),
		job.FormatTime(at(to)), reason))
}

// reported counts runs, as they end, and returns the report of November.
func reported(t *testing.T, runs ...store.EndedRun) *Report {
	t.Helper()
	of := &store.RunMonths{ScheduleKey: store.ScheduleKey{Account: 1, Schedule: uuid.New()}, Created: at("01 00:00:00")}
	now := at("28 00:00:00")
	for i := range runs {
		runs[i].Number = int64(i + 1)
	}
	whole := *of
	whole.Runs = runs
	for i := range runs { // one after the other, as they end
		of.Runs = runs[i : i+1]
		for _, m := range CountRuns(of, now) {
			of.Months = append(of.Months[:0:0], without(of.Months, m.Month)...)
			of.Months = append(of.Months, m)
		}
	}
	of.Runs = nil
	one, all := ReportOf(of, november, now), ReportOf(&whole, november, now)
	if showMonth(&one.Counts) != showMonth(&all.Counts) {
		t.Errorf("counted one by one:\n%s\nat once:\n%s", showMonth(&one.Counts), showMonth(&all.Counts))
	}
	return all
}

func without(all []*store.ScheduleMonth, month int64) (rest []*store.ScheduleMonth) {
	for _, m := range all {
		if m.Month != month {
			rest = append(rest, m)
		}
	}
	return rest
}

func showMonth(m *Month) string {
	lines := []string{fmt.Sprintf("due %d made %d completed %d failed %d cancelled %d late %d missed %v omitted %d",
		m.Due(), m.Made(), m.Completed, m.Failed, m.Cancelled, m.Late, m.Missed, m.Omitted)}
	for _, o := range m.Outages {
		lines = append(lines, fmt.Sprintf("%s %s to %s: %d", o.Reason, o.From.Format("02 15:04:05"), o.To.Format("02 15:04:05"), o.Runs))
	}
	return strings.Join(lines, "\n")
}

func TestCountRuns(t *testing.T) {
	t.Parallel()
	const ok, failed, cancelled = job.Completed, job.Discarded, job.Cancelled
	for name, c := range map[string]struct {
		runs []store.EndedRun
		want string
	}{
		"punctual runs": {
			[]store.EndedRun{made(ok, "02 10:00:00", "02 10:00:00"), made(ok, "03 10:00:00", "03 10:01:00")},
			"due 2 made 2 completed 2 failed 0 cancelled 0 late 0 missed [0 0 0 0 0] omitted 0",
		},
		"the service was down": {
			[]store.EndedRun{changed(made(ok, "02 10:00:00", "02 12:30:00"), func(r *store.EndedRun) {
				r.Requests, r.FirstAt = 1, r.AttemptedAt
				r.Skips = []rawjson.Value{skip("down", "02 11:00:00", "02 12:00:00", 2), rawjson.Value(`{"reason":"down"}`)}
			})},
			"due 3 made 1 completed 1 failed 0 cancelled 0 late 1 missed [2 0 0 0 0] omitted 0\nservice 02 10:00:00 to 02 12:30:00: 3",
		},
		"the target failed": {
			[]store.EndedRun{made(failed, "02 10:00:00", "02 10:00:00"), made(failed, "02 11:00:00", "02 11:00:00"),
				made(cancelled, "02 11:30:00", "02 11:30:00"), made(ok, "02 12:00:00", "02 12:00:00"), made(failed, "02 13:00:00", "02 13:00:00")},
			"due 5 made 5 completed 1 failed 3 cancelled 1 late 0 missed [0 0 0 0 0] omitted 0\n" +
				"target 02 10:00:00 to 02 12:00:00: 2\ntarget 02 13:00:00 to 02 13:00:01: 1",
		},
		"a limit held the run back": {
			[]store.EndedRun{changed(made(ok, "02 10:00:00", "02 12:00:00"), func(r *store.EndedRun) { r.DueAt = r.AttemptedAt })},
			"due 1 made 1 completed 1 failed 0 cancelled 0 late 0 missed [0 0 0 0 0] omitted 0",
		},
		"a retry does not count": {
			[]store.EndedRun{changed(made(ok, "02 10:00:00", "02 12:00:00"), func(r *store.EndedRun) {
				r.Requests, r.FirstAt, r.DueAt = 2, at("02 10:00:00"), r.AttemptedAt
			})},
			"due 1 made 1 completed 1 failed 0 cancelled 0 late 0 missed [0 0 0 0 0] omitted 0",
		},
		"the run before took long": {
			[]store.EndedRun{changed(made(ok, "02 10:00:00", "02 12:00:00"), func(r *store.EndedRun) {
				r.InsertedAt, r.DueAt = r.AttemptedAt, r.AttemptedAt
				r.Skips = []rawjson.Value{skip("overlap", "02 09:00:00", "02 09:00:00", 1), skip("next", "02 11:00:00", "02 11:00:00", 1)}
			})},
			"due 2 made 1 completed 1 failed 0 cancelled 0 late 1 missed [0 1 0 0 1] omitted 0",
		},
		"runs that were not made": {
			[]store.EndedRun{
				changed(made(failed, "02 10:00:00", "02 10:05:00"), func(r *store.EndedRun) { r.AttemptedAt = time.Time{} }),
				changed(made(failed, "02 11:00:00", "02 11:05:00"), func(r *store.EndedRun) {
					r.AttemptedAt, r.DueAt = time.Time{}, store.HeldDue(r.DueAt)
				}),
				changed(made(cancelled, "09 11:00:00", "02 11:05:00"), func(r *store.EndedRun) { r.AttemptedAt = time.Time{} }),
			},
			"due 2 made 0 completed 0 failed 2 cancelled 0 late 0 missed [0 0 0 0 0] omitted 0\nservice 02 10:00:00 to 02 10:05:01: 1",
		},
		"another month, and before the schedule": {
			[]store.EndedRun{changed(made(ok, "02 10:00:00", "01 00:00:00"), func(r *store.EndedRun) {
				r.ScheduledAt = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
			}), changed(made(ok, "02 10:00:00", "02 10:00:00"), func(r *store.EndedRun) {
				r.Skips = []rawjson.Value{rawjson.Value(
					`{"count":3,"from":"2026-10-31T00:00:00Z","to":"2026-11-01T00:00:00Z","reason":"down"}`)}
			})},
			"due 2 made 2 completed 2 failed 0 cancelled 0 late 0 missed [0 0 0 0 0] omitted 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := showMonth(&reported(t, c.runs...).Counts); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestCountRuns_KeepsTheLongestOutages(t *testing.T) {
	t.Parallel()
	var runs []store.EndedRun
	for day := 1; day <= 25; day++ {
		due := fmt.Sprintf("%02d 10:00:00", day)
		runs = append(runs, changed(made(job.Completed, due, fmt.Sprintf("%02d 10:%02d:00", day, 2+day)), func(r *store.EndedRun) {
			r.InsertedAt = r.ScheduledAt.Add(-time.Hour)
		}))
	}
	m := reported(t, runs...).Counts
	if len(m.Outages) != MaxOutages || m.Omitted != 5 || !m.Outages[0].From.Equal(at("06 10:00:00")) || m.Late != 25 {
		t.Errorf("%d late\n%s", m.Late, showMonth(&m))
	}
	if n := len(m.Encode()); n > 1024 {
		t.Errorf("%d bytes", n)
	}
	l := m.Lateness()
	if l.Attempts != 25 || l.Worst != 27*60_000 || l.P50 > l.P99 || l.P999 > l.Worst {
		t.Errorf("lateness %+v", l)
	}
}

func TestCountRuns_NotesOldRuns(t *testing.T) {
	t.Parallel()
	run := made(job.Completed, "02 10:00:00", "02 10:00:00")
	run.Number = 9
	of := &store.RunMonths{Runs: []store.EndedRun{run}}
	months := CountRuns(of, at("02 10:00:00").AddDate(1, 1, 0))
	if len(months) != 1 || months[0].Month != november+MonthsKept || months[0].Through != 9 || DecodeMonth(months[0].Counts).Due() != 0 {
		t.Errorf("%+v", months[0])
	}
	if first := FirstOf(november); MonthOf(first) != november || !first.Equal(at("01 00:00:00")) || MonthOf(first.Add(-1)) != november-1 {
		t.Errorf("November begins at %s", first)
	}
}

func FuzzDecodeMonth(f *testing.F) {
	run := made(job.Discarded, "02 10:00:00", "02 10:05:00")
	m := Month{}
	m.add(&run, run.ScheduledAt, run.AttemptedAt)
	f.Add(m.Encode())
	f.Add([]byte{monthVersion, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		m := DecodeMonth(b)
		if again := DecodeMonth(m.Encode()); showMonth(again) != showMonth(m) || again.open != m.open {
			t.Errorf("%s\nbecomes\n%s", showMonth(m), showMonth(again))
		}
		_ = m.Lateness()
	})
}
