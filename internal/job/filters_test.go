package job

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestFilters_AreConsistent(t *testing.T) {
	ranks := map[int]string{}
	for list := OfJobs; list <= OfAttempts; list <<= 1 {
		seen := map[string]bool{}
		for _, f := range FiltersOf(list) {
			if seen[f.Name] {
				t.Errorf("%s filters list %b twice", f.Name, list)
			}
			seen[f.Name] = true
			if f.Label == "" || f.Flag.Help == "" || f.Flag.Placeholder == "" {
				t.Errorf("%s has no input or no flag", f.Name)
			}
		}
	}
	for _, f := range termFilters {
		if ranks[f.Rank] != "" || f.Rank == 0 {
			t.Errorf("%s has the rank %d of %q", f.Name, f.Rank, ranks[f.Rank])
		}
		ranks[f.Rank] = f.Name
		if tag := f.Column == TagColumn; tag != (f.Index == "") || tag != (f.of == nil) {
			t.Errorf("%s has a column without an index, or no value of a job", f.Name)
		}
	}
	for _, f := range FiltersOf(OfJobs) {
		if f.Name != "state" && f.Chip == "" {
			t.Errorf("%s has no chip", f.Name)
		}
	}
}

// samples are values of filters that differ from any.
var samples = map[string]string{
	"state": "completed", "tag": "a", "host": "example.com", "name": "n", "schedule_id": "0198d5d2-6b1c-7c4e-9a53-0c1d2e3f4a5b",
	"idempotency_key": "k",
	"error_kind":      "timeout", "since": "2026-01-01", "until": "2026-01-02", "job_id": "7", "parent": "7", "event": EventRequest,
}

// Each field of a query is set by one filter, and each filter restricts the list: one
// that nothing reads would select everything.
func TestFilters_SetEachFieldOfAQuery(t *testing.T) {
	for _, f := range FiltersOf(OfJobs | OfOperations | OfLogs | OfAttempts) {
		sample, known := samples[f.Name]
		if !known {
			t.Fatalf("there is no sample of %s", f.Name)
		}
		var s Selection
		if why := f.read(&s, []string{sample}); why != "" || reflect.ValueOf(s).IsZero() {
			t.Errorf("%s is not read: %+v, %s", f.Name, s, why)
		}
		if f.Column != "" && len(s.Query.Terms()) != 1 {
			t.Errorf("%s is none of the terms %v", f.Name, s.Query.Terms())
		}
		if f.Column != "" && s.Query.Selects(&Job{}) {
			t.Errorf("%s selects a job without it", f.Name)
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Query]()) {
		if field.Anonymous || len(field.Index) > 1 {
			continue
		}
		set := slices.ContainsFunc(FiltersOf(OfJobs), func(f *Filter) bool {
			var s Selection
			f.read(&s, []string{samples[f.Name]})
			return !reflect.ValueOf(s.Query).FieldByIndex(field.Index).IsZero()
		})
		if !set {
			t.Errorf("no filter sets Query.%s", field.Name)
		}
	}
}

func TestQuery_SelectsByItsTerms(t *testing.T) {
	name, key, schedule := "n", "k", uuid.New()
	j := &Job{Name: &name, Key: &key, ScheduleID: schedule, Args: []byte(`{"url":"https://Example.com/","tags":["a","b"]}`)}
	other := "other"
	for _, c := range []struct {
		q    Query
		want bool
	}{
		{Query{}, true}, {Query{Tags: []string{"b", "a"}}, true}, {Query{Tags: []string{"a", "c"}}, false},
		{Query{Host: "example.com"}, true},
		{Query{Host: "example.org"}, false}, {Query{Name: &name}, true}, {Query{Name: &other}, false}, {Query{Key: &key}, true},
		{Query{Key: &other}, false},
		{Query{Schedule: schedule}, true}, {Query{Schedule: uuid.New()}, false}, {Query{Name: &name, Host: "example.org"}, false},
	} {
		if got := c.q.Selects(j); got != c.want {
			t.Errorf("%+v selects the job: %t, want %t", c.q, got, c.want)
		}
	}
}

// The parameters of a list and the filter of an operation mean the same.
func TestFilters_OfOperationsAreThoseOfLists(t *testing.T) {
	for _, f := range FiltersOf(OfOperations) {
		for _, text := range []string{samples[f.Name], "", "\x00", strings.Repeat("x", 300), "Å/ b"} {
			p := Parameters{Values: map[string][]string{f.Name: {text}}}
			want := p.Filters(OfOperations)
			value := `"` + strings.ReplaceAll(text, "\x00", `\u0000`) + `"`
			if f.Repeats() {
				value = "[" + value + "]"
			}
			got, err := ReadSelection([]byte(`{"` + f.InFilter() + `":` + value + `}`))
			if (err != nil) != (len(p.Problems) > 0) || err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s=%q is read as %+v, %v; as a parameter as %+v, %v", f.Name, text, got, err, want, p.Problems)
			}
		}
	}
}
