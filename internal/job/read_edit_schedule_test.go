package job_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

func TestReadScheduleEdit_ChecksTheWholeRecord(t *testing.T) {
	key := "k"
	interval := &job.Schedule{Key: &key, Args: rawjson.Value(`{"url":"https://x","repeat_every":60,"method":"get","headers":{}}`)}
	cron := &job.Schedule{Args: rawjson.Value(`{"url":"https://x","cron":"0 9 * * *","timezone":"Europe/Berlin","method":"get","headers":{}}`)}
	for _, x := range []struct {
		s          *job.Schedule
		body, args string
		pointers   []string
	}{
		{interval, `{"cron":"@daily"}`, `{"url":"https://x","cron":"@daily","method":"get","headers":{}}`, nil},
		{interval, `{"timezone":"Europe/Berlin"}`, "", []string{"#/timezone"}},
		{interval, `{"timezone":"Europe/Berlin","cron":"@daily"}`,
			`{"url":"https://x","cron":"@daily","timezone":"Europe/Berlin","method":"get","headers":{}}`, nil},
		{interval, `{"repeat_every":null}`, "", []string{"#/repeat_every"}},
		{interval, `{"repeat_every":0.5}`, "", []string{"#/repeat_every"}},
		{interval, `{"cron":"0 0 30 2 *"}`, "", []string{"#/cron"}},
		{interval, `{"cron":"@daily","repeat_every":5}`, "", []string{"#/repeat_every", "#/cron"}},
		{interval, `{"idempotency_key":"k"}`, "", []string{"#/idempotency_key"}},
		{cron, `{"repeat_every":90}`, `{"url":"https://x","repeat_every":90,"method":"get","headers":{}}`, nil},
		{cron, `{"timezone":"UTC"}`, `{"url":"https://x","cron":"0 9 * * *","timezone":"UTC","method":"get","headers":{}}`, nil},
		{cron, `{"timezone":null}`, `{"url":"https://x","cron":"0 9 * * *","method":"get","headers":{}}`, nil},
		{cron, `{"cron":null}`, "", []string{"#/cron"}},
		{cron, `{"timezone":"Berlin"}`, "", []string{"#/timezone"}},
	} {
		e, err := job.ReadScheduleEdit(x.s, rawjson.Value(x.body), job.ReadOptions{Now: changedAt})
		if !slices.Equal(pointers(err), x.pointers) || err == nil && string(e.Args) != x.args {
			t.Errorf("%s: %v, %+v", x.body, err, e)
		}
	}
}

// wantFirstRun tests when a schedule runs first after an edit of its timing.
func wantFirstRun(t *testing.T, s *job.Schedule, body, want string) {
	t.Helper()
	e, err := job.ReadScheduleEdit(s, rawjson.Value(body), job.ReadOptions{Now: changedAt})
	if err != nil || !e.Moves || e.ScheduledAt.Format(time.RFC3339Nano) != want {
		t.Errorf("%s, edited by %s: %v, %+v, want %s", s.Args, body, err, e, want)
	}
}

// A new frequency begins at the first time that was asked for, not at the old
// expression's first tick after it. schedule_in counts from the create, ten seconds
// before the edit.
func TestReadScheduleEdit_BeginsAtTheFirstTimeAskedFor(t *testing.T) {
	created := changedAt.Add(-10 * time.Second)
	for _, x := range []struct{ first, body, want string }{
		{`"scheduled_at":"2026-06-01T05:00:00Z"`, `{"timezone":"Asia/Tokyo"}`, "2026-12-31T15:00:00Z"},
		{`"scheduled_at":"2026-06-01T05:00:00Z"`, `{"cron":"30 * * * *"}`, "2026-06-01T05:30:00Z"},
		{`"scheduled_at":"2026-06-01T05:00:00Z"`, `{"repeat_every":60}`, "2026-06-01T05:00:00Z"},
		{`"scheduled_at":"2026-01-01T05:00:00Z"`, `{"cron":"30 * * * *"}`, "2026-03-04T05:30:00Z"},
		{`"schedule_in":7200`, `{"cron":"30 * * * *"}`, "2026-03-04T07:30:00Z"},
		{`"schedule_in":[2,"hours"]`, `{"repeat_every":60}`, "2026-03-04T07:05:57.000008Z"},
		{`"schedule_in":[2,"hours"]`, `{"cron":"6 7 * * *"}`, "2026-03-04T07:06:00Z"},
		{`"schedule_in":3`, `{"repeat_every":60}`, "2026-03-04T05:06:07.000008Z"},
		{`"schedule_in":3`, `{"cron":"30 * * * *"}`, "2026-03-04T05:30:00Z"},
		{`"retries":1`, `{"cron":"30 * * * *"}`, "2026-03-04T05:30:00Z"},
		{`"retries":1`, `{"repeat_every":60}`, "2027-01-01T00:00:00Z"},
		{`"schedule_in":7200`, `{"cron":"30 * * * *","schedule_in":null}`, "2026-03-04T05:30:00Z"},
	} {
		d, err := job.Read(rawjson.Value(`{"url":"https://x","cron":"0 0 1 1 *",`+x.first+`}`), job.ReadOptions{Now: created})
		if err != nil {
			t.Fatal(err)
		}
		s := &job.Schedule{ID: d.ScheduleID, FirstDue: d.Grid.Begin, Args: d.Args}
		wantFirstRun(t, s, x.body, x.want)
	}
}

// Versions before stored the first tick as the beginning of a cron's grid. What its
// schedule_in asked for was at most that far ahead.
func TestReadScheduleEdit_BeginningThatWasStoredAsATick(t *testing.T) {
	tick := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, x := range []struct{ first, body, want string }{
		{`"scheduled_at":"2026-06-01T05:00:00Z"`, `{"timezone":"Asia/Tokyo"}`, "2026-12-31T15:00:00Z"},
		{`"scheduled_at":"2026-06-01T05:00:00Z"`, `{"cron":"30 * * * *"}`, "2026-06-01T05:30:00Z"},
		{`"scheduled_at":"2026-06-01T05:00:00Z"`, `{"repeat_every":60}`, "2026-06-01T05:00:00Z"},
		{`"scheduled_at":"2026-01-01T05:00:00Z"`, `{"cron":"30 * * * *"}`, "2026-03-04T05:30:00Z"},
		{`"schedule_in":7200`, `{"cron":"30 * * * *"}`, "2026-03-04T07:30:00Z"},
		{`"schedule_in":[2,"hours"]`, `{"repeat_every":60}`, "2026-03-04T07:06:07.000008Z"},
		{`"schedule_in":[400,"days"]`, `{"cron":"30 * * * *"}`, "2027-01-01T00:30:00Z"},
		{`"retries":1`, `{"cron":"30 * * * *"}`, "2026-03-04T05:30:00Z"},
		{`"retries":1`, `{"repeat_every":60}`, "2027-01-01T00:00:00Z"},
		{`"schedule_in":7200`, `{"cron":"30 * * * *","schedule_in":null}`, "2026-03-04T05:30:00Z"},
	} {
		s := &job.Schedule{FirstDue: tick, Args: rawjson.Value(`{"url":"https://x","cron":"0 0 1 1 *",` + x.first +
			`,"method":"get","headers":{}}`)}
		wantFirstRun(t, s, x.body, x.want)
	}
}

// What schedule_in said counts once: a second new frequency begins now.
func TestReadScheduleEdit_FirstTimeThatHasPassed(t *testing.T) {
	d, err := job.Read(rawjson.Value(`{"url":"https://x","cron":"0 0 1 1 *","schedule_in":3}`), job.ReadOptions{Now: changedAt})
	if err != nil {
		t.Fatal(err)
	}
	s := &job.Schedule{ID: d.ScheduleID, FirstDue: d.Grid.Begin, Args: d.Args}
	var e *job.Edit
	for i, body := range []string{`{"cron":"0 0 1 2 *"}`, `{"repeat_every":3600}`} {
		now := changedAt.Add(time.Duration(i+1) * time.Minute)
		if e, err = job.ReadScheduleEdit(s, rawjson.Value(body), job.ReadOptions{Now: now}); err != nil {
			t.Fatal(err)
		}
		s.FirstDue, s.Args = e.Grid.Begin, e.Args
	}
	if want := changedAt.Add(2 * time.Minute); !e.ScheduledAt.Equal(want) {
		t.Errorf("due at %v, want %v", e.ScheduledAt, want)
	}
}

func TestReplace_ComparesTheWholeContent(t *testing.T) {
	name := "n"
	s := &job.Schedule{
		Name: &name, Revision: 2, FirstDue: changedAt.Add(-time.Hour),
		Args: rawjson.Value(`{"url":"https://x","repeat_every":[1,"hour"],"schedule_in":5,"body":{"a":1,"b":[2]},"method":"get","headers":{}}`),
	}
	for body, want := range map[string]struct {
		moves   bool
		changes string
	}{
		`{"name":"n","body":{"b":[2],"a":1},"schedule_in":5,"repeat_every":[1,"hour"],"method":"GET","url":"https://x","headers":{}}`: {false, `[]`},
		`{"body":{"b":[2],"a":1},"schedule_in":5,"repeat_every":3600,"url":"https://x"}`:                                              {false, `[{"path":"/repeat_every","from":[1,"hour"],"to":3600},{"path":"/name","from":"n","to":null}]`},
		`{"name":"n","body":{"b":[2],"a":1},"schedule_in":6,"repeat_every":[1,"hour"],"url":"https://x"}`:                             {true, `[{"path":"/schedule_in","from":5,"to":6}]`},
		`{"name":"n","body":{"b":[2],"a":1},"schedule_in":[5,"seconds"],"repeat_every":[1,"hour"],"url":"https://x"}`:                 {false, `[{"path":"/schedule_in","from":5,"to":[5,"seconds"]}]`},
		`{"name":"n","body":{"b":[2],"a":1},"scheduled_at":5,"repeat_every":[1,"hour"],"url":"https://x"}`:                            {true, `[{"path":"/schedule_in","from":5,"to":null},{"path":"/scheduled_at","from":null,"to":5}]`},
		`{"name":"n","body":{"b":[2],"a":1},"repeat_every":[1,"hour"],"url":"https://x"}`:                                             {true, `[{"path":"/schedule_in","from":5,"to":null}]`},
	} {
		d, err := job.ReadSchedule(rawjson.Value(body), job.ReadOptions{Now: changedAt})
		if err != nil {
			t.Fatal(err)
		}
		if e, err := job.Replace(s, d); err != nil || e.Moves != want.moves || changesOf(e) != want.changes || e.Base != 2 {
			t.Errorf("%s: %v, %+v", body, err, e)
		}
	}
	for body, want := range map[string][]string{
		`{"url":"https://x"}`: {"#/repeat_every", "#/cron"},
		`{"url":"https://x","cron":"@daily","idempotency_key":"k"}`: {"#/idempotency_key"}, `[]`: {"#"},
	} {
		if _, err := job.ReadSchedule(rawjson.Value(body), job.ReadOptions{Now: changedAt}); !slices.Equal(pointers(err), want) {
			t.Errorf("%s: problems at %q, want %q", body, pointers(err), want)
		}
	}
}

// A draft that is read for a key has an id, and so a shift, of its own.
func TestReplace_KeepsTheShiftOfTheSchedule(t *testing.T) {
	s := &job.Schedule{
		ID: uuid.MustParse("0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b"), Revision: 1, FirstDue: time.Date(2026, 3, 5, 6, 0, 0, 0, time.UTC),
		Args: rawjson.Value(`{"url":"https://x","cron":"0 6 * * *","jitter":[1,"hour"],"method":"get","headers":{}}`),
	}
	shift := schedule.ShiftOf(s.ID, time.Hour)
	for body, want := range map[string]time.Time{
		`{"url":"https://x","cron":"0 7 * * *","jitter":[1,"hour"]}`: time.Date(2026, 3, 4, 7,
			0, 0, 0, time.UTC),
		`{"url":"https://x","cron":"0 7 * * *","jitter":[1,"hour"],"except":["2026-03-04/2026-03-08"]}`: time.Date(2026, 3, 9, 7,
			0, 0, 0, time.UTC),
		`{"url":"https://x","repeat_every":[1,"day"],"jitter":[1,"hour"],"scheduled_at":"2026-03-01T07:00"}`: time.Date(2026, 3, 1, 7,
			0, 0, 0, time.UTC),
		`{"url":"https://x","repeat_every":[1,"day"],"jitter":[1,"hour"],"schedule_in":0,"except":["2026-03-04"]}`: changedAt.AddDate(0, 0,
			1),
	} {
		d, err := job.ReadSchedule(rawjson.Value(body), job.ReadOptions{Now: changedAt})
		if err != nil {
			t.Fatal(err)
		}
		read := *d.Grid
		e, err := job.Replace(s, d)
		if err != nil || !e.Moves || !e.ScheduledAt.Equal(want.Add(shift)) || e.Grid.Shift != shift || !e.Grid.Begin.Equal(read.Begin) {
			t.Errorf("%s: %v, %+v", body, err, e)
		}
		if d.Grid.Shift != read.Shift || d.ScheduleID == s.ID {
			t.Errorf("%s: the draft has changed", body)
		}
	}
}

// The only point fits before ends_at with the shift of the draft, and does not with
// that of the schedule.
func TestReplace_RefusesAGridWithoutDueTimes(t *testing.T) {
	s := &job.Schedule{
		ID: uuid.MustParse("0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b"), Revision: 1, FirstDue: changedAt,
		Args: rawjson.Value(`{"url":"https://x","repeat_every":[1,"day"],"method":"get","headers":{}}`),
	}
	early := uuid.MustParse("0198d5d2-6b1c-7c4e-9a53-000000000000")
	for i := byte(0); schedule.ShiftOf(early, 20*time.Hour) >= schedule.ShiftOf(s.ID, 20*time.Hour); i++ {
		early[15] = i
	}
	ends := changedAt.Add(time.Hour + schedule.ShiftOf(early, 20*time.Hour))
	body := `{"url":"https://x","repeat_every":[1,"day"],"schedule_in":[1,"hour"],"jitter":[20,"hours"],"ends_at":"` +
		job.FormatTime(ends) + `"}`
	d, err := job.ReadSchedule(rawjson.Value(body), job.ReadOptions{Now: changedAt, Schedule: early})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := job.Replace(s, d); fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), "ends_at") {
		t.Errorf("%v, %+v", err, e)
	}
}

// The points of the schedule are due until ends_at; a grid that began now would have
// none.
func TestReadSchedule_KeepsTheGridOfWhatItReplaces(t *testing.T) {
	id := uuid.MustParse("0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b")
	shift := schedule.ShiftOf(id, 20*time.Hour)
	last := changedAt.Add(shift / 2).Truncate(time.Microsecond) // of the grid that began two days ago
	body := `{"url":"https://x","repeat_every":[1,"day"],"jitter":[20,"hours"],"ends_at":"` + job.FormatTime(last) + `"}`
	s := &job.Schedule{
		ID: id, Revision: 3, FirstDue: last.Add(-shift).AddDate(0, 0, -2),
		Args: rawjson.Value(`{"url":"https://x","repeat_every":[1,"day"],"jitter":[20,"hours"],"ends_at":"` + job.FormatTime(last) +
			`","method":"get","headers":{}}`),
	}
	read := func(body string) (*job.Draft, error) {
		return job.ReadSchedule(rawjson.Value(body),
			job.ReadOptions{Now: changedAt, Schedule: id, Replaces: func() *job.Schedule { return s }})
	}
	if d, err := job.ReadSchedule(rawjson.Value(body), job.ReadOptions{Now: changedAt, Schedule: id}); !slices.Equal(pointers(err),
		[]string{"#/ends_at"}) {
		t.Errorf("a new schedule: %+v, %v", d, err)
	}
	d, err := read(body)
	if err != nil || !d.Grid.Begin.Equal(s.FirstDue) || !d.ScheduledAt.Equal(last) {
		t.Fatalf("%+v, %v", d, err)
	}
	if e, err := job.Replace(s, d); err != nil || len(e.Changes) != 0 || e.Moves {
		t.Errorf("%+v, %v", e, err)
	}
	changed := *s
	changed.Revision++
	if _, err := job.Replace(&changed, d); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a schedule that has changed meanwhile: %v", err)
	}
	if err := d.Creates(); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a schedule that was deleted meanwhile: %v", err)
	}
	if _, err := read(strings.Replace(body, "1,", "2,", 1)); !slices.Equal(pointers(err), []string{"#/ends_at"}) {
		t.Errorf("another interval: %v", err)
	}
	s.FirstDue = s.FirstDue.Add(time.Second)
	if _, err := read(strings.Replace(body, "x", "y", 1)); !slices.Equal(pointers(err), []string{"#/ends_at"}) {
		t.Errorf("no point is left: %v", err)
	}
	if d, err := read(body); err != nil || d.Existing == nil || d.ScheduleID != id {
		t.Errorf("no point is left of a schedule that does not change: %+v, %v", d, err)
	}
}

// What equals the stored schedule is right whatever the clock says, and whatever has
// become of other records.
func TestReadSchedule_OfEqualContentIsRight(t *testing.T) {
	name := "n"
	s := &job.Schedule{
		ID: uuid.MustParse("0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b"), Revision: 3, FirstDue: changedAt.AddDate(0, 0, -2), Name: &name,
		Args: rawjson.Value(`{"url":"https://x","repeat_every":60,"ends_at":"2020-01-01","limits":["gone"],"method":"put","headers":{"a":"{{secret.gone}}"}}`),
	}
	opts := job.ReadOptions{
		Now: changedAt, Replaces: func() *job.Schedule { return s },
		HasLimit: func(string) bool { return false }, CheckSecret: func(string, string, job.SecretKind) string { return "is gone" },
		CheckHost: func(string) string { return "is denied" },
	}
	const same = `"name":"n","headers":{"a":"{{secret.gone}}"},"method":"PUT","limits":["gone"],"url":"https://x","ends_at":"2020-01-01","repeat_every":60,"body":null}`
	d, err := job.ReadSchedule(rawjson.Value(`{`+same), opts)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := job.Replace(s, d); err != nil || len(e.Changes) != 0 || e.Moves {
		t.Errorf("%+v, %v", e, err)
	}
	for _, members := range []string{`"body":1,`, `"name":1,`, `"description":"d",`, `"idempotency_key":"k",`, `"schedule_at":1,`,
		`"x":null,`, `"method":5,`, `"headers":1,`} {
		field, _, _ := strings.Cut(members, ":")
		body := `{` + members + strings.Replace(same, field+`:`, `"description":`, 1)
		if _, err := job.ReadSchedule(rawjson.Value(body), opts); err == nil {
			t.Errorf("%s is accepted", body)
		}
	}
}
