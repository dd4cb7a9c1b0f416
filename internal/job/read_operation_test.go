package job

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var operatedAt = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)

func readOperation(text string) (*OperationRequest, error) {
	v, err := rawjson.Read([]byte(text))
	if err != nil {
		return nil, err
	}
	return ReadOperation(v, ReadOptions{Now: operatedAt})
}

func TestReadOperation_ReadsEveryFilter(t *testing.T) {
	o, err := readOperation(`{"action":"rerun","filter":{"state":"scheduled","tags":["b","a"],"schedule_id":"01a05e38-6689-7c3e-9d41-0b6f2a5c8e17",
		"host":"API.Example.com","name":"n","error_kind":"timeout","since":"2031-01-02","until":2000000000},"set":{"url":"https://example.com/","spread":[2,"hours"]},"dry_run":true}`)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := ParseID("01a05e38-6689-7c3e-9d41-0b6f2a5c8e17")
	name := "n"
	want := Query{
		States: []State{Available, Retryable}, Tags: []string{"b", "a"}, Schedule: id, Host: "api.example.com", Name: &name,
		Since: time.Date(2031, 1, 2, 0, 0, 0, 0, time.UTC), Until: time.Date(2033, 5, 18, 3, 33, 20, 0, time.UTC),
	}
	if !reflect.DeepEqual(o.Selection.Query, want) || o.Selection.ErrorKind != "timeout" || !o.DryRun || o.Action != RerunJobs {
		t.Errorf("read %+v", o)
	}
	if o.Change.Spread != 2*time.Hour || !o.Change.Start.IsZero() ||
		string(o.Change.Patch(time.Time{})) != `{"url":"https://example.com/"}` {
		t.Errorf("the change is %+v", o.Change)
	}
	if got := string(o.Change.Patch(operatedAt)); got != `{"url":"https://example.com/","scheduled_at":"2031-05-06T07:08:09.000000Z"}` {
		t.Errorf("the patch with a time is %s", got)
	}
}

func TestReadOperation_TimesCountFromTheCall(t *testing.T) {
	o, err := readOperation(`{"action":"reschedule","all":true,"set":{"schedule_in":[1,"minute"],"spread":60}}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := operatedAt.Add(time.Minute); !o.Change.Start.Equal(want) || o.Change.Spread != time.Minute {
		t.Errorf("the change is %+v, want it from %s", o.Change, want)
	}
	if got := string(o.Change.Patch(operatedAt)); got != `{"scheduled_at":"2031-05-06T07:08:09.000000Z"}` {
		t.Errorf("the patch with a time is %s", got)
	}
	if string(o.Filter) != `{}` {
		t.Errorf("the filter is %s", o.Filter)
	}
}

func TestReadOperation_RefusesWithPointers(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "#", `{}`: "#/action #/filter", `{"action":"cancel","filter":{"state":null}}`: "#/filter",
		`{"action":7,"filter":{"name":"x"}}`:                                                "#/action",
		`{"action":"cancel","filter":{"state":7,"name":"","tags":["A"],"since":"soon"}}`:    "#/filter/name #/filter/since #/filter/state #/filter/tags/0",
		`{"action":"cancel","filter":{"host":"https://a","schedule_id":"1"},"all":1}`:       "#/all #/filter/host #/filter/schedule_id",
		`{"action":"run","filter":{"name":"x"},"set":7}`:                                    "#/set",
		`{"action":"rerun","filter":{"name":"x"},"set":{"ur":"x","headers":{"host":"x"}}}`:  "#/set/headers/host #/set/ur",
		`{"action":"rerun","filter":{"name":"x"},"set":{"schedule_in":1,"scheduled_at":1}}`: "#/set/schedule_in #/set/scheduled_at",
		`{"action":"reschedule","filter":{"name":"x"},"set":{"spread":0}}`:                  "#/set",
		`{"action":"rerun","filter":{"name":"x"},"set":{"body":"` + strings.Repeat("x", MaxOperationSet) +
			`"}}`: "#/set",
		`{"action":"rerun","filter":{"name":"x"},"set":{"idempotency_key":"k","spread":-1}}`: "#/set/idempotency_key #/set/spread",
		`{"action":"cancel","filter":{"name":"` + strings.Repeat("x", 256) +
			`","error_kind":"none","tags":["a","a"]},"dry_run":"yes"}`: "#/dry_run #/filter/error_kind #/filter/name #/filter/tags/1",
	} {
		_, err := readOperation(text)
		var pointers []string
		for _, p := range fault.ProblemsOf(err) {
			pointers = append(pointers, p.Pointer)
		}
		slices.Sort(pointers)
		if got := strings.Join(pointers, " "); got != want || fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%.100s: problems at %s, want %s", text, got, want)
		}
	}
}

func TestFailureKind_ReadsTheBeginningOfALog(t *testing.T) {
	for _, x := range []struct{ event, payload, want string }{
		{EventError, `{"kind":"timeout","message":"…`, "timeout"}, {EventError, `{"kind":"time`, ""}, {EventError, `{}`, ""},
		{EventResponse, `{"status":500,`, "status"},
	} {
		if got := FailureKind(x.event, []byte(x.payload)); got != x.want {
			t.Errorf("%s %s: kind %q, want %q", x.event, x.payload, got, x.want)
		}
	}
}

func TestReadSkipped_IsTheInverseOfAppendSkipped(t *testing.T) {
	skipped := map[Skip]int64{SkipFinal: 3, SkipHasRerun: 1 << 40}
	text := AppendSkipped(nil, skipped)
	if string(text) != `{"final":3,"has_rerun":1099511627776}` {
		t.Errorf("written as %s", text)
	}
	if got := ReadSkipped(text); !reflect.DeepEqual(got, skipped) {
		t.Errorf("read as %v", got)
	}
	if got := ReadSkipped(rawjson.Value(`{}`)); got != nil {
		t.Errorf("none is read as %v", got)
	}
}

func TestReadActor_IsTheInverseOfAppendActor(t *testing.T) {
	for _, a := range []Actor{{Kind: BySystem}, {Kind: ByKey, ID: "01a0", Name: "ci \"1\""}} {
		if got := ReadActor(AppendActor(nil, a)); got != a {
			t.Errorf("%+v is read as %+v", a, got)
		}
	}
}

// FuzzReadOperation verifies that a request that is accepted is read again from what
// is stored of it.
func FuzzReadOperation(f *testing.F) {
	for _, text := range []string{
		`{"action":"cancel","filter":{"state":"scheduled","tags":["a"],"since":1e9}}`,
		`{"action":"reschedule","all":true,"set":{"spread":[1.5,"days"],"schedule_in":1}}`,
		`{"action":"rerun","filter":{"host":"::1","error_kind":"status","until":"2031-01-01 00:00"},"set":{"url":"https://x.example","body":null,"name":"\u00e9"}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := readOperation(text)
		if err != nil {
			var known *fault.Error
			if errors.As(err, &known) && known.Code != fault.Invalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		selection, err := ReadSelection(o.Filter)
		if err != nil || !reflect.DeepEqual(selection, o.Selection) {
			t.Errorf("the filter %s is read again as %+v, %v", o.Filter, selection, err)
		}
		change, err := ReadOperationChange(o.Action, o.Set, ReadOptions{Now: operatedAt})
		if err != nil || !reflect.DeepEqual(change, o.Change) {
			t.Errorf("the set %s is read again as %+v, %v", o.Set, change, err)
		}
	})
}
