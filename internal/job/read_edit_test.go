package job_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var changedAt = time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)

// pointers returns the pointers of a fault's problems.
func pointers(err error) []string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil
	}
	var found []string
	for _, p := range f.Problems {
		found = append(found, p.Pointer)
	}
	return found
}

func changesOf(e *job.Edit) string { return string(job.AppendChanges(nil, e.Changes)) }

func TestReadJobEdit(t *testing.T) {
	name := "n"
	j := &job.Job{
		Name: &name, Revision: 3, ScheduledAt: changedAt.Add(time.Hour),
		Args: rawjson.Value(`{"url":"https://x","schedule_in":3600,"headers":{"a":"1","b":"2"},"retries":5,"method":"get"}`),
	}
	for body, want := range map[string]struct{ args, changes string }{
		`{}`:                       {string(j.Args), `[]`},
		`{"name":"n","retries":5}`: {string(j.Args), `[]`},
		`{"headers":{"b":"2","a":"1"}}`: {`{"url":"https://x","schedule_in":3600,"headers":{"b":"2","a":"1"},"retries":5,"method":"get"}`,
			`[]`},
		`{"name":null,"description":"d"}`: {string(j.Args),
			`[{"path":"/name","from":"n","to":null},{"path":"/description","from":null,"to":"d"}]`},
		`{"headers":{"c":3},"retries":null}`: {`{"url":"https://x","schedule_in":3600,"headers":{"c":3},"method":"get"}`,
			`[{"path":"/headers","from":{"a":"1","b":"2"},"to":{"c":3}},{"path":"/retries","from":5,"to":null}]`},
		`{"headers":null,"method":"POST"}`: {`{"url":"https://x","schedule_in":3600,"retries":5,"method":"post","headers":{}}`,
			`[{"path":"/headers","from":{"a":"1","b":"2"},"to":{}},{"path":"/method","from":"get","to":"post"}]`},
		`{"scheduled_at":"2026-03-05"}`: {`{"url":"https://x","scheduled_at":"2026-03-05","headers":{"a":"1","b":"2"},"retries":5,"method":"get"}`, `[{"path":"/schedule_in","from":3600,"to":null},{"path":"/scheduled_at","from":null,"to":"2026-03-05"}]`},
		`{"schedule_in":3600}`:          {string(j.Args), `[]`},
		`{"schedule_in":60.0}`: {`{"url":"https://x","schedule_in":60.0,"headers":{"a":"1","b":"2"},"retries":5,"method":"get"}`,
			`[{"path":"/schedule_in","from":3600,"to":60.0}]`},
	} {
		e, err := job.ReadJobEdit(j, rawjson.Value(body), job.ReadOptions{Now: changedAt})
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if string(e.Args) != want.args || changesOf(e) != want.changes || e.Base != 3 {
			t.Errorf("%s becomes %s, changes %s", body, e.Args, changesOf(e))
		}
	}
	later := changedAt.Add(time.Minute)
	e, err := job.ReadJobEdit(j, rawjson.Value(`{"schedule_in":3600}`), job.ReadOptions{Now: later})
	if err != nil || !e.Moves || changesOf(e) != `[{"path":"/scheduled_at","from":"2026-03-04T06:06:07.000008Z","to":"2026-03-04T06:07:07.000008Z"}]` {
		t.Errorf("the same text, later: %v, %+v", err, e)
	}
}

// What was filled in comes last, as if the record had been created so.
func TestEdits_KeepWhatWasFilledInLast(t *testing.T) {
	read := map[string]func(args, body string) (rawjson.Value, error){
		"job": func(args, body string) (rawjson.Value, error) {
			e, err := job.ReadJobEdit(&job.Job{Args: rawjson.Value(args)}, rawjson.Value(body), job.ReadOptions{Now: changedAt})
			if err != nil {
				return nil, err
			}
			return e.Args, nil
		},
		"schedule": func(args, body string) (rawjson.Value, error) {
			s := &job.Schedule{FirstDue: changedAt, Args: rawjson.Value(strings.Replace(args, `{`, `{"repeat_every":60,`, 1))}
			e, err := job.ReadScheduleEdit(s, rawjson.Value(body), job.ReadOptions{Now: changedAt})
			if err != nil {
				return nil, err
			}
			return rawjson.Value(strings.Replace(string(e.Args), `"repeat_every":60,`, "", 1)), nil
		},
		"rerun": func(args, body string) (rawjson.Value, error) {
			d, err := job.ReadRerun(&job.Job{Args: rawjson.Value(args)}, rawjson.Value(body), job.ReadOptions{Now: changedAt})
			if err != nil {
				return nil, err
			}
			return d.Args, nil
		},
	}
	for _, x := range [][3]string{
		{`{"url":"https://x","method":"get","headers":{}}`, `{"retries":5}`, `{"url":"https://x","retries":5,"method":"get","headers":{}}`},
		{`{"url":"https://x","method":"get","headers":{}}`, `{"method":"put"}`, `{"url":"https://x","method":"put","headers":{}}`},
		{`{"url":"https://x","method":"get","headers":{}}`, `{"method":null}`, `{"url":"https://x","method":"get","headers":{}}`},
		{`{"method":"put","url":"https://x","headers":{}}`, `{"body":1}`, `{"method":"put","url":"https://x","body":1,"headers":{}}`},
		{`{"headers":{"a":"1"},"url":"https://x","method":"get"}`, `{"body":1}`,
			`{"headers":{"a":"1"},"url":"https://x","body":1,"method":"get"}`},
		{`{"url":"https://x","method":"get","headers":{"a":"1"}}`, `{"body":1}`,
			`{"url":"https://x","method":"get","headers":{"a":"1"},"body":1}`},
	} {
		for what, edit := range read {
			if got, err := edit(x[0], x[1]); err != nil || string(got) != x[2] {
				t.Errorf("%s %s, changed by %s: %s, %v, want %s", what, x[0], x[1], got, err, x[2])
			}
		}
	}
	run := rawjson.Value(`{"url":"https://x","schedule_in":5,"method":"get","headers":{}}`)
	if got := string(job.WithTimeOf(rawjson.Value(`{"url":"https://y","method":"get","headers":{}}`), run)); got !=
		`{"url":"https://y","schedule_in":5,"method":"get","headers":{}}` {
		t.Errorf("the time of a run: %s", got)
	}
}

func TestReadJobEdit_ChecksTheWholeRecord(t *testing.T) {
	j := &job.Job{Args: rawjson.Value(`{"url":"https://x","method":"get"}`)}
	for body, want := range map[string][]string{
		`[]`: {"#"}, `{"url":null}`: {"#/url"}, `{"url":"http://x"}`: {"#/url"}, `{"bdy":1}`: {"#/bdy"}, `{"cron":"@daily"}`: {"#/cron"},
		`{"idempotency_key":"k"}`: {"#/idempotency_key"}, `{"repeat_every":5}`: {"#/repeat_every"},
		`{"schedule_in":[1,"month"]}`:                   {"#/schedule_in/1"},
		`{"schedule_in":5,"scheduled_at":"2031-01-01"}`: {"#/schedule_in", "#/scheduled_at"},
		`{"headers":{"host":"x"},"retries":21}`:         {"#/headers/host", "#/retries"}, `{"name":5}`: {"#/name"},
	} {
		if _, err := job.ReadJobEdit(j, rawjson.Value(body), job.ReadOptions{Now: changedAt}); !slices.Equal(pointers(err), want) {
			t.Errorf("%s: problems at %q, want %q", body, pointers(err), want)
		}
	}
}

// A record that is too large already may shrink.
func TestEdits_ResultIsBounded(t *testing.T) {
	for _, x := range []struct {
		body, patch int
		want        []string
	}{{job.MaxRequest / 2, job.MaxRequest, []string{"#"}}, {job.MaxRequest, job.MaxRequest - 200, nil},
		{job.MaxRequest + 9, job.MaxRequest + 8, nil}, {job.MaxRequest + 9, job.MaxRequest + 10, []string{"#"}}} {
		j := &job.Job{Args: rawjson.Value(`{"url":"https://x","body":"` + strings.Repeat("a", x.body) + `","method":"get","headers":{}}`)}
		body := rawjson.Value(`{"body":"` + strings.Repeat("b", x.patch) + `"}`)
		if _, err := job.ReadJobEdit(j, body, job.ReadOptions{Now: changedAt}); !slices.Equal(pointers(err), x.want) {
			t.Errorf("%d to %d: problems at %q, want %q", x.body, x.patch, pointers(err), x.want)
		}
		if _, err := job.ReadRerun(j, body, job.ReadOptions{Now: changedAt}); !slices.Equal(pointers(err), x.want) {
			t.Errorf("rerun, %d to %d: problems at %q, want %q", x.body, x.patch, pointers(err), x.want)
		}
	}
}

// Whatever its size, a record can be postponed, renamed and retried.
func TestEdits_LargestRecordTakesShortFields(t *testing.T) {
	long := strings.Repeat("0", 300)
	large := strings.Repeat("a", job.MaxRequest+9)
	j := &job.Job{Args: rawjson.Value(`{"url":"https://x","body":"` + large + `","method":"get","headers":{}}`)}
	for body, want := range map[string][]string{
		`{"schedule_in":[30,"seconds"]}`:                             nil,
		`{"scheduled_at":"2027-01-01T00:00:00.000001Z"}`:             nil,
		`{"name":"` + strings.Repeat("n", 255) + `"}`:                nil,
		`{"description":"` + strings.Repeat("d", 2000) + `"}`:        nil,
		`{"method":"delete","retries":5,"retry_delay":"30000"}`:      nil,
		`{"schedule_in":30.` + long + `}`:                            {"#"},
		`{"query":{"a":"` + long + `"}}`:                             {"#"},
		`{"headers":{"a":"` + long + `"},"scheduled_at":1798761600}`: {"#"},
	} {
		if _, err := job.ReadJobEdit(j, rawjson.Value(body), job.ReadOptions{Now: changedAt}); !slices.Equal(pointers(err), want) {
			t.Errorf("edited by %.40s: problems at %q, want %q", body, pointers(err), want)
		}
		if _, err := job.ReadRerun(j, rawjson.Value(body), job.ReadOptions{Now: changedAt}); !slices.Equal(pointers(err), want) {
			t.Errorf("rerun with %.40s: problems at %q, want %q", body, pointers(err), want)
		}
	}
}

func TestReadJobEdit_OfARunNamesTheSchedule(t *testing.T) {
	schedule := uuid.MustParse("0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b")
	j := &job.Job{ScheduleID: schedule, Args: rawjson.Value(`{"url":"https://x","repeat_every":60,"method":"get","headers":{}}`)}
	_, err := job.ReadJobEdit(j, rawjson.Value(`{"url":"https://y","name":"n"}`), job.ReadOptions{Now: changedAt})
	if !slices.Equal(pointers(err), []string{"#/url"}) || !strings.Contains(err.Error(), schedule.String()) {
		t.Errorf("refused with %v", err)
	}
	e, err := job.ReadJobEdit(j, rawjson.Value(`{"name":"n","schedule_in":5}`), job.ReadOptions{Now: changedAt})
	if err != nil || !e.Moves || !e.ScheduledAt.Equal(changedAt.Add(5*time.Second)) ||
		string(e.Args) != `{"url":"https://x","repeat_every":60,"schedule_in":5,"method":"get","headers":{}}` {
		t.Errorf("%v, %+v", err, e)
	}
}

func TestReadJobEdit_OfARunIsExact(t *testing.T) {
	id := uuid.MustParse("0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b")
	for _, times := range []string{
		`"cron":"0 6 * * *"`, `"cron":"0 6 * * *","jitter":[1,"hour"]`, `"repeat_every":[1,"day"],"jitter":[1,"hour"]`,
		`"cron":"0 6 * * *","except":["2026-03-04"],"ends_at":"2026-03-04T05:30:00Z"`, // without a point
	} {
		j := &job.Job{ScheduleID: id, Args: rawjson.Value(`{"url":"https://x",` + times + `,"method":"get","headers":{}}`)}
		e, err := job.ReadJobEdit(j, rawjson.Value(`{"schedule_in":500}`), job.ReadOptions{Now: changedAt})
		if err != nil || !e.Moves || !e.ScheduledAt.Equal(changedAt.Add(500*time.Second)) {
			t.Errorf("%s: %v, %+v", times, err, e)
		}
		e, err = job.ReadJobEdit(j, rawjson.Value(`{"name":"n"}`), job.ReadOptions{Now: changedAt})
		if err != nil || e.Moves {
			t.Errorf("%s, a name: %v, %+v", times, err, e)
		}
		if !strings.Contains(times, "ends_at") {
			continue
		}
		for _, field := range []string{`{"schedule_in":3600}`, `{"scheduled_at":"2026-03-04T05:30:01Z"}`} {
			if _, err := job.ReadJobEdit(j, rawjson.Value(field), job.ReadOptions{Now: changedAt}); len(pointers(err)) != 1 ||
				pointers(err)[0] == "#/ends_at" {
				t.Errorf("%s, %s: refused at %q", times, field, pointers(err))
			}
		}
	}
}

// A host that is refused since the record was stored stays, unless it is changed.
func TestReadJobEdit_IgnoresOldProblems(t *testing.T) {
	j := &job.Job{Args: rawjson.Value(`{"url":"https://old","method":"get","headers":{}}`)}
	opts := job.ReadOptions{Now: changedAt, CheckHost: func(host string) string {
		if host == "old" || host == "older" {
			return "is refused"
		}
		return ""
	}}
	if e, err := job.ReadJobEdit(j, rawjson.Value(`{"name":"n"}`), opts); err != nil || string(e.Args) != string(j.Args) {
		t.Errorf("another field: %v, %+v", err, e)
	}
	for _, body := range []string{`{"url":"https://old"}`, `{"url":"https://older"}`} {
		if _, err := job.ReadJobEdit(j, rawjson.Value(body), opts); !slices.Equal(pointers(err), []string{"#/url"}) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestReadNext_KnowsDurationsThatAreTooLong(t *testing.T) {
	for text, want := range map[string]string{
		`345600000`: "must be at most", `[4000,"days"]`: "must be at most", `315532801`: "must be at most", `315532800`: "", `1`: "",
		`-1`:           "must",
		`"9999-12-31"`: "must be at most", `"2001-01-01"`: "", `1e300`: "must", `99999999999999`: "must be at most",
		strconv.FormatInt(changedAt.Unix()-5, 10): "", strconv.FormatInt(changedAt.Add(time.Hour).UnixMilli(), 10): "",
	} {
		if at, wrong := job.ReadNext(rawjson.Value(text), changedAt); !strings.HasPrefix(wrong, want) || (want == "") != (wrong == "") {
			t.Errorf("%s: %v, %q; want %q", text, at, wrong, want)
		}
	}
}

func TestReadRerun(t *testing.T) {
	name := "n\"1"
	j := &job.Job{Name: &name, Key: &name, Args: rawjson.Value(
		`{"schedule_in":5,"url":"https://x","body":{"cron":1,"n":1.10},"cron":"* * * * *","timezone":"Europe/Berlin","method":"put","headers":{}}`)}
	want := `{"url":"https://x","body":{"cron":1,"n":1.10},"method":"put","headers":{},"name":"n\"1"}`
	if got := job.Again(j); string(got) != want {
		t.Errorf("again is %s, want %s", got, want)
	}
	d, err := job.ReadRerun(j, rawjson.Value(`{"body":null,"retries":1,"schedule_in":60,"name":"m"}`), job.ReadOptions{Now: changedAt})
	if err != nil || string(d.Args) != `{"url":"https://x","method":"put","retries":1,"schedule_in":60,"headers":{}}` || *d.Name != "m" ||
		d.Key != nil || !d.DueAt.Equal(changedAt.Add(time.Minute)) {
		t.Errorf("%v, %+v", err, d)
	}
	if d, err := job.ReadRerun(j, rawjson.Value(`{}`), job.ReadOptions{Now: changedAt}); err != nil || !d.DueAt.Equal(changedAt) ||
		*d.Name != name {
		t.Errorf("%v, %+v", err, d)
	}
	for body, want := range map[string][]string{
		`{"cron":"@daily"}`: {"#/cron"}, `{"idempotency_key":"k"}`: {"#/idempotency_key"}, `{"retries":21}`: {"#/retries"},
		`{"url":null}`: {"#/url"}, `[]`: {"#"},
	} {
		if _, err := job.ReadRerun(j, rawjson.Value(body), job.ReadOptions{Now: changedAt}); !slices.Equal(pointers(err), want) {
			t.Errorf("%s: problems at %q, want %q", body, pointers(err), want)
		}
	}
}

func TestCheckNames_ListsLimitsAndSecretsThatCannotBeUsed(t *testing.T) {
	args := rawjson.Value(`{"url":"http://x","limits":["a","b"],"headers":{"k":"{{secret.s}}"},"timeout":0,"repeat_every":60}`)
	opts := job.ReadOptions{
		Now: changedAt, HasLimit: func(key string) bool { return key == "a" },
		CheckSecret: func(string, string, job.SecretKind) string { return "names no secret" },
	}
	err := job.CheckNames(&job.Schedule{Args: args}, opts)
	if want := []string{"#/limits/1", "#/headers/k"}; !slices.Equal(pointers(err), want) {
		t.Errorf("problems at %q, want %q", pointers(err), want)
	}
	if _, err := job.ReadRerun(&job.Job{Args: args}, rawjson.Value(`{"headers":null}`), opts); !slices.Equal(pointers(err),
		[]string{"#/limits/1"}) {
		t.Errorf("a rerun without headers has problems at %q", pointers(err))
	}
	opts.HasLimit, opts.CheckSecret = func(string) bool { return true }, func(string, string, job.SecretKind) string { return "" }
	if err := job.CheckNames(&job.Schedule{Args: args}, opts); err != nil {
		t.Error(err)
	}
	if _, err := job.ReadRerun(&job.Job{Args: args}, rawjson.Value(`{}`), opts); err != nil {
		t.Errorf("a rerun with the problems of its job: %v", err)
	}
}

func FuzzReadEdits(f *testing.F) {
	for _, seed := range []string{
		`{"schedule_in":[1,"day"]}`, `{"scheduled_at":"2030-01-01T00:00:00+02:00"}`,
		`{"name":null,"cron":"0 9 * * 1","timezone":"Europe/Berlin"}`,
		`{"repeat_every":90,"description":"d"}`, `{"cron":"x","repeat_every":0}`, `{"url":null}`, `{"headers":{"a":[1]},"body":null}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = job.ReadInstant(text)
		body, err := rawjson.Read([]byte(text))
		if err != nil {
			return
		}
		opts := job.ReadOptions{Now: changedAt}
		j := &job.Job{Args: rawjson.Value(`{"url":"https://x","schedule_in":60}`)}
		if e, err := job.ReadJobEdit(j, body, opts); err == nil {
			again, err := job.ReadJobEdit(&job.Job{Name: e.Name, Description: e.Description, Args: e.Args, ScheduledAt: e.ScheduledAt},
				body, opts)
			if err != nil || len(again.Changes) != 0 {
				t.Errorf("%s changes %s again: %v", text, e.Args, err)
			}
		}
		s := &job.Schedule{Args: rawjson.Value(`{"url":"https://x","repeat_every":60}`)}
		if e, err := job.ReadScheduleEdit(s, body, opts); err == nil {
			spec := job.ReadSpec(e.Args)
			if frequency, err := spec.Frequency(); err != nil || frequency == nil || !strings.HasPrefix(spec.URL, "https://") {
				t.Errorf("%s makes a schedule with %s: %v", text, e.Args, err)
			}
		}
		_, _ = job.ReadRerun(j, body, opts)
		_, _ = job.ReadSchedule(body, opts)
	})
}
