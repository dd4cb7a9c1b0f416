package job_test

import (
	"errors"
	"slices"
	"testing"
	"time"

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

func TestReadTiming(t *testing.T) {
	for body, want := range map[string]time.Time{
		`{"schedule_in":1.5}`:                           changedAt.Add(1500 * time.Millisecond),
		`{"schedule_in":[1,"day"],"scheduled_at":null}`: changedAt.Add(24 * time.Hour),
		`{"scheduled_at":"2020-01-01"}`:                 time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		`{"scheduled_at":1893456000}`:                   time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := job.ReadTiming(rawjson.Value(body), changedAt); err != nil || !got.At.Equal(want) {
			t.Errorf("%s: %+v, %v, want %v", body, got, err, want)
		}
	}
	for body, want := range map[string][]string{
		`{}`:                                 {"#"},
		`[]`:                                 {"#"},
		`{"schedule_in":null}`:               {"#"},
		`{"schedule_in":-1}`:                 {"#/schedule_in"},
		`{"schedule_at":1}`:                  {"#/schedule_at"},
		`{"schedule_in":1,"url":1}`:          {"#/url"},
		`{"schedule_in":1,"scheduled_at":2}`: {"#/schedule_in", "#/scheduled_at"},
		`{"scheduled_at":"soon"}`:            {"#/scheduled_at"},
		`{"scheduled_at":"2099-01-01T00:00:00Z"}`:            {"#/scheduled_at"},
		`{"schedule_in":[1,"fortnight"],"repeat_every":"x"}`: {"#/repeat_every", "#/schedule_in/1"},
	} {
		if _, err := job.ReadTiming(rawjson.Value(body), changedAt); !slices.Equal(pointers(err), want) {
			t.Errorf("%s: problems at %q, want %q", body, pointers(err), want)
		}
	}
}

func TestTimingIn_ReplacesTheOldTiming(t *testing.T) {
	timing, err := job.ReadTiming(rawjson.Value(`{"scheduled_at":1893456000}`), changedAt)
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{"schedule_in":5,"url":"https://x","n":1.10}`: `{"scheduled_at":1893456000,"url":"https://x","n":1.10}`,
		`{"url":"https://x","scheduled_at":"x","a":1}`: `{"url":"https://x","scheduled_at":1893456000,"a":1}`,
		`{"url":"https://x"}`:                          `{"url":"https://x","scheduled_at":1893456000}`,
	} {
		if got := timing.In(rawjson.Value(args)); string(got) != want {
			t.Errorf("%s became %s, want %s", args, got, want)
		}
	}
}

func TestAgain_IsTheSameRequestOnceAndAtOnce(t *testing.T) {
	name := "n\"1"
	j := &job.Job{Name: &name, Key: &name, Args: rawjson.Value(`{"schedule_in":5,"url":"https://x","body":{"cron":1,"n":1.10},"cron":"* * * * *","timezone":"Europe/Berlin","method":"put","headers":{}}`)}
	want := `{"url":"https://x","body":{"cron":1,"n":1.10},"method":"put","headers":{},"name":"n\"1"}`
	if got := job.Again(j); string(got) != want {
		t.Errorf("again is %s, want %s", got, want)
	}
}

func TestReadEdit(t *testing.T) {
	for body, want := range map[string][]string{
		`{"name":"n"}`: nil, `{"name":null}`: nil, `{"description":null,"cron":null}`: nil, `{"repeat_every":[1,"day"]}`: nil,
		`{"cron":"0 9 * * *","timezone":"Europe/Berlin"}`: nil, `{"cron":"@daily","repeat_every":null}`: nil,
		`{}`: {"#"}, `[]`: {"#"}, `{"cron":null}`: {"#"}, `{"timezone":"Europe/Berlin"}`: {"#/timezone"},
		`{"repeat_every":0.5}`: {"#/repeat_every"}, `{"cron":"x"}`: {"#/cron"}, `{"nme":"n"}`: {"#/nme"}, `{"url":"https://x"}`: {"#/url"},
		`{"cron":"* * * * *","repeat_every":5}`: {"#/repeat_every", "#/cron"}, `{"name":1,"description":[]}`: {"#/name", "#/description"},
		`{"schedule_in":5}`: {"#/schedule_in"},
	} {
		if _, err := job.ReadEdit(rawjson.Value(body), changedAt); !slices.Equal(pointers(err), want) {
			t.Errorf("%s: problems at %q, want %q", body, pointers(err), want)
		}
	}
}

func FuzzReadChanges(f *testing.F) {
	for _, seed := range []string{
		`{"schedule_in":[1,"day"]}`, `{"scheduled_at":"2030-01-01T00:00:00+02:00"}`, `{"name":null,"cron":"0 9 * * 1","timezone":"Europe/Berlin"}`,
		`{"repeat_every":90,"description":"d"}`, `{"cron":"x","repeat_every":0}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = job.ReadInstant(text)
		body, err := rawjson.Read([]byte(text))
		if err != nil {
			return
		}
		const args = `{"url":"https://x","repeat_every":60}`
		if timing, err := job.ReadTiming(body, changedAt); err == nil {
			if _, err := rawjson.Read(timing.In(rawjson.Value(args))); err != nil {
				t.Errorf("%s makes args that are no JSON: %v", text, err)
			}
		}
		edit, err := job.ReadEdit(body, changedAt)
		if err != nil {
			return
		}
		s := &job.Schedule{Args: rawjson.Value(args)}
		edit.Apply(s)
		spec := job.ReadSpec(s.Args)
		if frequency, err := spec.Frequency(); err != nil || frequency == nil || spec.URL != "https://x" {
			t.Errorf("%s makes a schedule with %s: %v", text, s.Args, err)
		}
	})
}
