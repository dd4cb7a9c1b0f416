package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func dateRange(t testing.TB, text string) DateRange {
	t.Helper()
	r, err := ParseDateRange(text)
	if err != nil {
		t.Fatalf("ParseDateRange(%q): %v", text, err)
	}
	return r
}

func dates(t testing.TB, texts ...string) Dates {
	t.Helper()
	var ranges []DateRange
	for _, text := range texts {
		ranges = append(ranges, dateRange(t, text))
	}
	return NewDates(ranges)
}

func TestParseDateRange(t *testing.T) {
	for text, want := range map[string]DateRange{
		"1970-01-01":            {0, 0},
		"1969-12-31":            {-1, -1},
		"2026-12-25":            {20812, 20812},
		"2026-12-24/2027-01-02": {20811, 20820},
		"2028-02-29/2028-02-29": {21243, 21243},
		"0000-01-01/9999-12-31": {-719528, 2932896},
	} {
		if got := dateRange(t, text); got != want {
			t.Errorf("ParseDateRange(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestParseDateRange_RefusesWithASentence(t *testing.T) {
	const shape = "must be a date such as 2026-12-25, or a range such as 2026-12-24/2027-01-02"
	for text, want := range map[string]string{
		"": shape, "x": shape, "2026-1-5": shape, "20260105": shape, "2026-12-25T00:00Z": shape, "2026-12-25 ": shape, "-2026-12-25": shape,
		"2026-12-25/": shape, "/2026-12-25": shape, "2026-12-25/x": shape, "2026-12-25/26": shape,
		"2026-12-25/2026-12-26/2026-12-27": shape,
		"26-12-25":                         shape, "10000-01-01": shape, "2026‑12‑25": shape, "2026-12-25/2026-12-26x": shape,
		"2031-02-30":            "has 30 as its day of 2031-02; give 01 to 28",
		"2031-13-01":            "has 13 as its month; give 01 to 12",
		"2031-02-01/2031-00-01": "has 0 as its month; give 01 to 12",
		"2031-03-05/2031-03-01": "must not end before it begins; give the earlier date first",
	} {
		if got, err := ParseDateRange(text); err == nil || err.Error() != want {
			t.Errorf("ParseDateRange(%q) = %v, %v, want %q", text, got, err, want)
		}
	}
}

func TestNewDates_MergesRanges(t *testing.T) {
	got := dates(t, "1970-01-20", "1970-01-05/1970-01-07", "1970-01-03", "1970-01-04", "1970-01-10/1970-01-15", "1970-01-11", "1970-01-20")
	if want := []DateRange{{2, 6}, {9, 14}, {19, 19}}; !slices.Equal(got.ranges, want) {
		t.Errorf("got %v, want %v", got.ranges, want)
	}
}

func FuzzParseDateRange(f *testing.F) {
	for _, seed := range []string{"2026-12-25", "2026-12-24/2027-01-02", "2031-02-30", "2031-03-05/2031-03-01", "a/b/c", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseDateRange(text)
		if err != nil {
			if err.Error() == "" {
				t.Errorf("%q is refused without a reason", text)
			}
			return
		}
		show := func(day int64) string { return time.Unix(day*secondsPerDay, 0).UTC().Format(time.DateOnly) }
		if want := strings.TrimSuffix(show(r.first)+"/"+show(r.last), "/"+text); want != text {
			t.Errorf("%q is read as %s", text, want)
		}
	})
}
