package schedule

import "testing"

func TestSuggestZone_KnowsCitiesAndOtherSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"Berlin": "Europe/Berlin", "europe/berlin": "Europe/Berlin", "new york": "America/New_York", "NEW_YORK": "America/New_York",
		"utc": "UTC",
		"PST": "America/Los_Angeles", "CEST": "Europe/Berlin", "tokyo": "Asia/Tokyo", "Ushuaia": "America/Argentina/Ushuaia",
		"": "", "Atlantis": "", "../etc/passwd": "", "UTC+2": "", "\x00": "",
	} {
		if got := SuggestZone(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
