package job

import "testing"

func TestSuggestDuration_ReadsOtherSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"30": "30", "30s": "30", "1.5 seconds": "1.5", "PT30S": "30", "5m": `[5, "minutes"]`, "1 min": `[1, "minute"]`,
		"PT5M": `[5, "minutes"]`,
		"2h":   `[2, "hours"]`, "1.5h": `[1.5, "hours"]`, "P1D": `[1, "day"]`, "007d": `[7, "days"]`, "0w": `[0, "weeks"]`, "00.5": "0.5",
		"": "", "soon": "", "1h30m": "", "5 months": "", "-5s": "", "1e3": "", "12345678901234567890": "",
	} {
		if got := SuggestDuration(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNearestField_KnowsTheNamesOfOtherSchedulers(t *testing.T) {
	for name, want := range map[string]string{
		"delay": "schedule_in", "runAt": "scheduled_at", "max-retries": "retries", "payload": "body", "deduplicationId": "idempotency_key",
		"retris": "retries",
	} {
		if got, ok := Nearest(name, createFields); !ok || got != want {
			t.Errorf("%s: got %s, %v, want %s", name, got, ok, want)
		}
	}
	if got, ok := Nearest("delay", []string{"name"}); ok {
		t.Errorf("suggested %s, which can't be given", got)
	}
}
