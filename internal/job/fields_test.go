package job

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestFields_AreConsistent(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Fields() {
		if seen[f.Name] || FieldNamed(f.Name) != f {
			t.Errorf("%s is in the table twice", f.Name)
		}
		seen[f.Name] = true
		if f.In&ForCreate == 0 {
			t.Errorf("%s can't be given on create", f.Name)
		}
		if f.In&EditJob != 0 && f.In&ForJob == 0 || f.In&EditSchedule != 0 && f.In&ForSchedule == 0 {
			t.Errorf("%s can be changed where it can't be given", f.Name)
		}
		if other := FieldNamed(f.Excludes); f.Excludes != "" && (other == nil || other.Excludes != f.Name) {
			t.Errorf("%s excludes %s, which does not exclude it", f.Name, f.Excludes)
		}
		if f.Needs != "" && FieldNamed(f.Needs) == nil {
			t.Errorf("%s needs %s, which does not exist", f.Name, f.Needs)
		}
		if f.Form.Section > TimingSection && f.Form.Label == "" {
			t.Errorf("%s has an input without a label", f.Name)
		}
	}
}

func TestFields_OfEachPlace(t *testing.T) {
	onlySchedule := []string{"repeat_every", "timezone", "cron", "catch_up", "ends_at", "max_runs", "disable_after", "jitter", "offset",
		"except"}
	onCreate := []string{"idempotency_key", "request_id", "on_conflict", "max_wait", "throttle"}
	for places, missing := range map[Places][]string{
		ForCreate:    nil,
		ForJob:       onlySchedule,
		ForSchedule:  {"max_wait", "throttle", "after"},
		EditJob:      slices.Concat(onlySchedule, onCreate, []string{"group", "after"}),
		EditSchedule: slices.Concat(onCreate, []string{"after"}),
	} {
		for _, f := range Fields() {
			if got, want := f.In&places != 0, !slices.Contains(missing, f.Name); got != want {
				t.Errorf("%s in places %b: %v, want %v", f.Name, places, got, want)
			}
		}
	}
	if got, want := namesIn(EditRun), []string{"schedule_in", "scheduled_at", "name", "description"}; !slices.Equal(got, want) {
		t.Errorf("a run can be changed in %q, want %q", got, want)
	}
}

// withFields adds fields to the table for the time of a test, which must not be
// parallel.
func withFields(t *testing.T, added ...Field) {
	oldTable, oldNames, oldCreate := table, byName, createFields
	t.Cleanup(func() { table, byName, createFields = oldTable, oldNames, oldCreate })
	table = append(slices.Clone(table), pointers(added)...)
	byName, createFields = indexed(table), namesIn(ForCreate)
}

func TestRead_RefusesFieldsWhereTheyDoNotWork(t *testing.T) {
	withFields(t,
		Field{Name: "for_schedules", In: OnlySchedule, Kind: WholeValue},
		Field{Name: "for_jobs", In: ForJob | EditJob, Kind: BooleanValue},
		Field{Name: "with_key", In: ForCreate, Kind: DurationValue, Needs: "idempotency_key"},
		Field{Name: "without_body", In: Anywhere, check: func(r *reader, f *Field, _ rawjson.Value) {
			if r.has("body") {
				r.refuse(Pointer(f.Name), "does not work with a body")
			}
		}},
	)
	key := "k"
	for body, want := range map[string][]string{
		`{"url":"https://x","for_schedules":1}`:                   {"#/for_schedules"},
		`{"url":"https://x","for_schedules":1,"cron":"@daily"}`:   nil,
		`{"url":"https://x","for_schedules":null}`:                nil,
		`{"url":"https://x","for_jobs":true}`:                     nil,
		`{"url":"https://x","for_jobs":true,"repeat_every":5}`:    {"#/for_jobs"},
		`{"url":"https://x","with_key":5}`:                        {"#/with_key"},
		`{"url":"https://x","with_key":5,"idempotency_key":"k"}`:  nil,
		`{"url":"https://x","with_key":5,"idempotency_key":null}`: {"#/with_key"},
		`{"url":"https://x","without_body":1}`:                    nil,
		`{"url":"https://x","without_body":1,"body":1,"for_schedules":1,"with_key":1,"for_jobs":1}`: {"#/with_key", "#/without_body",
			"#/for_schedules"},
		`{"url":"https://x","timezone":"Europe/Berlin"}`:                                  {"#/timezone"},
		`{"url":"https://x","timezone":"Europe/Berlin","repeat_every":5,"cron":"@daily"}`: {"#/repeat_every", "#/cron"},
	} {
		if _, got := read(t, body); !slices.Equal(got, want) {
			t.Errorf("%s: problems at %q, want %q", body, got, want)
		}
	}
	if _, err := Read(rawjson.Value(`{"url":"https://x","with_key":5}`), ReadOptions{Now: noon, HeaderKey: &key}); err != nil {
		t.Errorf("with the key in a header: %v", err)
	}
	again := Again(&Job{Args: rawjson.Value(`{"url":"https://x","with_key":5,"for_schedules":3,"without_body":1,"cron":"@daily"}`)})
	if string(again) != `{"url":"https://x","without_body":1}` {
		t.Errorf("again is %s", again)
	}
}

func TestMerge(t *testing.T) {
	const cron = `{"url":"https://x","cron":"@daily","timezone":"Europe/Berlin","n":1.10,"method":"get"}`
	for _, x := range []struct{ args, changes, want string }{
		{cron, `{}`, cron},
		{cron, `{"cron":"@hourly"}`, `{"url":"https://x","cron":"@hourly","timezone":"Europe/Berlin","n":1.10,"method":"get"}`},
		{cron, `{"timezone":null}`, `{"url":"https://x","cron":"@daily","n":1.10,"method":"get"}`},
		{cron, `{"repeat_every":5}`, `{"url":"https://x","repeat_every":5,"n":1.10,"method":"get"}`},
		{cron, `{"repeat_every":5,"cron":null}`, `{"url":"https://x","repeat_every":5,"n":1.10,"method":"get"}`},
		{cron, `{"retries":1,"url":"https://y"}`, `{"url":"https://y","cron":"@daily","timezone":"Europe/Berlin","n":1.10,"method":"get","retries":1}`},
		{cron, `{"retries":null,"n":null}`, `{"url":"https://x","cron":"@daily","timezone":"Europe/Berlin","method":"get"}`},
		{`{"repeat_every":5,"url":"https://x"}`, `{"timezone":"UTC","cron":"@daily"}`,
			`{"cron":"@daily","timezone":"UTC","url":"https://x"}`},
		{`{"schedule_in":5,"url":"https://x"}`, `{"scheduled_at":7}`, `{"scheduled_at":7,"url":"https://x"}`},
		{`{"schedule_in":5,"url":"https://x"}`, `{"schedule_in":null}`, `{"url":"https://x"}`},
	} {
		if got := Merge(rawjson.Value(x.args), rawjson.Members(rawjson.Value(x.changes))); string(got) != x.want {
			t.Errorf("%s with %s is\n%s, want\n%s", x.args, x.changes, got, x.want)
		}
	}
}

func TestReadDuration(t *testing.T) {
	const least, most = time.Second, 7 * 24 * time.Hour
	for text, want := range map[string]time.Duration{
		`1`: time.Second, `1.5`: 1500 * time.Millisecond, `[2,"Minutes"]`: 2 * time.Minute, `[7,"day"]`: most, `604800`: most,
		`1.0000009`: time.Second,
	} {
		got, ok := ReadDuration(rawjson.Value(text), "#/d", least, most,
			func(pointer, detail string) { t.Errorf("%s: %s %s", text, pointer, detail) })
		if !ok || got != want || DurationOf(rawjson.Value(text)) != want {
			t.Errorf("%s: %v, %v, want %v", text, got, ok, want)
		}
	}
	for text, want := range map[string]map[string]string{
		`0.5`:          {"#/d": "must be at least 1 second"},
		`-1`:           {"#/d": "must not be negative"},
		`[8,"days"]`:   {"#/d/0": "must be at most 7 days"},
		`1e400`:        {"#/d": "must be at most 7 days"},
		`"1"`:          {"#/d": "must be a number of seconds or [amount, unit], here 1"},
		`"5m"`:         {"#/d": "must be a number of seconds or [amount, unit], here [5, \"minutes\"]"},
		`"soon"`:       {"#/d": "must be a number of seconds or [amount, unit]"},
		`[]`:           {"#/d": "must be a number of seconds or [amount, unit]"},
		`[1,"days",2]`: {"#/d": "must be a number of seconds or [amount, unit]"},
		`["1","days"]`: {"#/d/0": "must be a number"},
		`[-1,"months"]`: {"#/d/1": "must be a unit: second, minute, hour, day or week, singular or plural",
			"#/d/0": "must not be negative"},
	} {
		found := map[string]string{}
		_, ok := ReadDuration(rawjson.Value(text), "#/d", least, most, func(pointer, detail string) { found[pointer] = detail })
		if ok || !maps.Equal(found, want) {
			t.Errorf("%s: %v, %v, want %v", text, ok, found, want)
		}
	}
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1 second", 90 * time.Second: "90 seconds", time.Minute: "1 minute", 24 * time.Hour: "1 day",
		36 * time.Hour: "36 hours", MaxAhead: "3,652 days",
		time.Millisecond: "1ms", 0: "0s",
	} {
		if got := durationText(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

func TestFieldValue_ReadsText(t *testing.T) {
	for _, x := range []struct {
		kind, of FieldKind
		text     string
		want     string // "" for none
		back     string // what the input shows for the value
	}{
		{TextValue, 0, " a b ", `"a b"`, "a b"},
		{TextValue, 0, "5", `"5"`, "5"},
		{TextValue, 0, " ", ``, ""},
		{LinesValue, 0, "a\r\nb\r\n", `"a\nb"`, "a\nb"},
		{WholeValue, 0, "5", `5`, "5"},
		{WholeValue, 0, "many", `"many"`, "many"},
		{NumberValue, 0, "1.50", `1.50`, "1.50"},
		{BooleanValue, 0, "true", `true`, "true"},
		{DurationValue, 0, "90", `90`, "90"},
		{DurationValue, 0, "1.5  hours", `[1.5,"hours"]`, "1.5 hours"},
		{DurationValue, 0, `[2, "days"]`, `[2,"days"]`, "2 days"},
		{DurationValue, 0, "soon", `"soon"`, "soon"},
		{InstantValue, 0, "2030-01-01", `"2030-01-01"`, "2030-01-01"},
		{InstantValue, 0, "1893456000", `1893456000`, "1893456000"},
		{ListValue, TextValue, "a, b\nc,,", `["a","b","c"]`, "a, b, c"},
		{ListValue, WholeValue, "200, 3xx", `[200,"3xx"]`, "200, 3xx"},
		{ListValue, DurationValue, "10, 1 minute", `[10,[1,"minute"]]`, "10, 1 minute"},
		{ListValue, TextValue, `["a,b"]`, `["a,b"]`, "a,b"},
		{ObjectValue, DurationValue, `{"within": [1, "hour"]}`, `{"within":[1,"hour"]}`, `{"within":[1,"hour"]}`},
		{ObjectValue, TextValue, `{`, `"{"`, "{"},
	} {
		f := &Field{Kind: x.kind, Of: x.of}
		got := f.Value(x.text)
		if string(got) != x.want {
			t.Errorf("kind %d: %q is %s, want %s", x.kind, x.text, got, x.want)
		}
		if x.want != "" && f.Text(got) != x.back {
			t.Errorf("kind %d: %s is shown as %q, want %q", x.kind, got, f.Text(got), x.back)
		}
	}
}

func FuzzFieldValue(f *testing.F) {
	for _, text := range []string{"", "a, b", "1.5 hours", "[1,2", `{"a":1}`, "1e999 days", "200,3xx", "\xff"} {
		f.Add(text, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		field := &Field{Kind: FieldKind(kind % uint8(AnyValue+1)), Of: FieldKind(kind / 16 % uint8(ListValue))}
		v := field.Value(text)
		if v == nil {
			return
		}
		again, err := rawjson.Read(v)
		if err != nil || string(again) != string(v) {
			t.Fatalf("Value(%q) = %q, which is no compact JSON: %v", text, v, err)
		}
		if field.Kind == DurationValue {
			if d, ok := ReadDuration(v, "#", 0, MaxAhead, func(string, string) {}); ok && DurationOf(v) != d {
				t.Fatalf("%s is read as %v and then as %v", v, d, DurationOf(v))
			}
		}
	})
}

func TestReadPartly_ReturnsTheTimesOfARefusedRequest(t *testing.T) {
	for body, want := range map[string]string{ // the due time; "" for none
		`{"url":"http://x","schedule_in":5,"nme":1}`:                 "2026-03-04T12:00:05.123456Z",
		`{"cron":"0 13 * * *"}`:                                      "2026-03-04T13:00:00.000000Z",
		`{"url":"https://x","schedule_in":-1}`:                       "",
		`{"url":"https://x","schedule_in":1,"scheduled_at":0}`:       "",
		`{"url":"https://x","timezone":"Europe/Berlin"}`:             "",
		`{"url":"https://x","cron":"@daily","timezone":"Mars/Moon"}`: "",
		`[]`: "",
	} {
		draft, err := ReadPartly(rawjson.Value(body), ReadOptions{Now: noon})
		got := ""
		if draft != nil {
			got = FormatTime(draft.DueAt)
		}
		if err == nil || got != want {
			t.Errorf("%s: due %q, %v, want %q and an error", body, got, err, want)
		}
	}
}
