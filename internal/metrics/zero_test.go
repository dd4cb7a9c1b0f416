package metrics

import (
	"strings"
	"testing"
)

// Every counter with labels must be there before its first event, or alerts miss it.
func TestCounters_BeginAtZero(t *testing.T) {
	m := New("v1.2.3")
	m.Expect("/api/jobs")
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	for _, family := range families {
		for _, metric := range family.Metric {
			if family.GetType().String() != "COUNTER" || !strings.HasPrefix(family.GetName(), "punctual_") {
				continue
			}
			series[family.GetName()]++
			if value := metric.GetCounter().GetValue(); value != 0 {
				t.Errorf("%s begins at %v", family.GetName(), value)
			}
		}
	}
	for name, want := range map[string]int{
		"punctual_jobs_created_total": 1, "punctual_jobs_duplicate_total": 1, "punctual_jobs_finished_total": 3,
		"punctual_attempts_total": 42, "punctual_completions_total": 4, "punctual_unstored_total": 2, "punctual_refused_total": 6,
		"punctual_runs_set_aside_total": 1, "punctual_attempt_panics_total": 1, "punctual_operation_jobs_total": 8,
		"punctual_pruned_total": 4, "punctual_http_requests_total": 2, "punctual_store_errors_total": 6,
	} {
		if series[name] != want {
			t.Errorf("%s begins with %d series, want %d", name, series[name], want)
		}
		delete(series, name)
	}
	if len(series) > 0 {
		t.Errorf("counters that this test does not know: %v", series)
	}
}
