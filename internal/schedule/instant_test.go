package schedule

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestParseInstant(t *testing.T) {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for s, want := range map[string]time.Time{
		"2026-03-01":                           day,
		"2026-03-01T00:00":                     day,
		"2026-03-01 00:00:00":                  day,
		"2026-03-01T00:00Z":                    day,
		"2026-03-01t00:00:00z":                 day,
		"2026-03-01T02:00:00+02":               day,
		"2026-03-01T02:00:00+0200":             day,
		"2026-03-01T02:00:00+02:00":            day,
		"2026-03-01 02:00+02":                  day,
		"2026-02-28T18:30-05:30":               day,
		"2026-02-28T18:30:00.000-0530":         day,
		"2026-03-01T00:00:00-00:00":            day,
		"2026-03-01T23:59:00+23:59":            day,
		"2026-03-01T00:00:00.5":                day.Add(500 * time.Millisecond),
		"2026-03-01T00:00:00.123456Z":          day.Add(123456 * time.Microsecond),
		"2026-03-01T00:00:00.1234569+00:00":    day.Add(123456 * time.Microsecond),
		"2026-03-01T00:00:00.0000009Z":         day,
		"2026-03-01T00:00:00.1234567890123456": day.Add(123456 * time.Microsecond),
		"2026-03-01T23:59:59.999999999Z":       day.AddDate(0, 0, 1).Add(-time.Microsecond),
		"1969-12-31T23:59:59.9999999Z":         time.Unix(-1, 999999000),
		"2024-02-29":                           time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		"2000-02-29":                           time.Date(2000, 2, 29, 0, 0, 0, 0, time.UTC),
		"0001-01-01T00:00:00":                  {},
		"0000-01-01":                           time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		"9999-12-31T23:59:59Z":                 time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	} {
		got, err := ParseInstant(s)
		if err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("ParseInstant(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
}

func TestParseInstantRefuses(t *testing.T) {
	const shape = "must be a date and time"
	for s, want := range map[string]string{
		"":                                shape,
		"now":                             shape,
		"1772323200":                      shape,
		"20260301":                        shape,
		"20260301T000000Z":                shape,
		"2026":                            shape,
		"2026-03":                         shape,
		"2026-W09-7":                      shape,
		"2026-060":                        shape,
		"2026-3-1":                        shape,
		"02026-03-01":                     shape,
		"+2026-03-01":                     shape,
		"-2026-03-01":                     shape,
		"2026/03/01":                      shape,
		"01.03.2026":                      shape,
		"2026-03-01Z":                     shape,
		"2026-03-01+02:00":                shape,
		"2026-03-01T":                     shape,
		"2026-03-01T00":                   shape,
		"2026-03-01T00Z":                  shape,
		"2026-03-01T0000":                 shape,
		"2026-03-01T00:00:":               shape,
		"2026-03-01T00:0":                 shape,
		"2026-03-01T00:00:0":              shape,
		"2026-03-01T00:00.5":              shape,
		"2026-03-01T00:00:00.":            shape,
		"2026-03-01T00:00:00.Z":           shape,
		"2026-03-01T00:00:00,5":           shape,
		"2026-03-01T00:00:00 Z":           shape,
		"2026-03-01T00:00:00 +02:00":      shape,
		"2026-03-01T00:00:00+2":           shape,
		"2026-03-01T00:00:00+020":         shape,
		"2026-03-01T00:00:00+02:":         shape,
		"2026-03-01T00:00:00+02:0":        shape,
		"2026-03-01T00:00:00+02:00:00":    shape,
		"2026-03-01T00:00:00−02:00":       shape,
		"2026-03-01T00:00:00Zulu":         shape,
		"2026-03-01T00:00:00 UTC":         shape,
		"2026-03-01T00:00:00[UTC]":        shape,
		"2026-03-01  00:00:00":            shape,
		"2026-03-01_00:00:00":             shape,
		" 2026-03-01":                     shape,
		"2026-03-01 ":                     shape,
		"2026-03-01\n":                    shape,
		"2026-03-01T00:00:00Z\x00":        shape,
		"٢٠٢٦-03-01":                      shape,
		"Sun, 01 Mar 2026 12:01:30 GMT":   shape,
		"2026-03-01T00:00:00." + nines:    shape,
		"2026-00-01":                      "has 0 as its month; give 01 to 12",
		"2026-13-01":                      "has 13 as its month; give 01 to 12",
		"2026-03-00":                      "has 0 as its day of 2026-03; give 01 to 31",
		"2026-02-29":                      "has 29 as its day of 2026-02; give 01 to 28",
		"2100-02-29":                      "has 29 as its day of 2100-02; give 01 to 28",
		"2026-04-31T25:00":                "has 31 as its day of 2026-04; give 01 to 30",
		"2026-03-01T24:00:00":             "has 24 as its hour; give 00 to 23",
		"2026-03-01T00:60":                "has 60 as its minute; give 00 to 59",
		"2016-12-31T23:59:60Z":            "has 60 as its second; give 00 to 59",
		"2026-03-01T00:00:00+24:00":       "has 24 as its hour of the offset",
		"2026-03-01T00:00:00+02:60":       "has 60 as its minute of the offset",
		"0000-01-01T00:00:00+00:01":       "must lie within the years 0 to 9999",
		"9999-12-31T23:59:59-00:01":       "must lie within the years 0 to 9999",
		"2026-13-45T99:99:99.+99junk\xff": "has 13 as its month",
	} {
		got, err := ParseInstant(s)
		if err == nil {
			t.Errorf("ParseInstant(%q) = %v, want an error", s, got)
		} else if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ParseInstant(%q): %q, want %q", s, err, want)
		}
	}
}

var nines = strings.Repeat("9", maxInstant)

func TestParseUnix(t *testing.T) {
	for literal, want := range map[string]time.Time{
		"0":                   time.Unix(0, 0),
		"-0.0":                time.Unix(0, 0),
		"1772323200":          time.Unix(1772323200, 0),
		"1772323200.5":        time.Unix(1772323200, 5e8),
		"1772323200.123456":   time.Unix(1772323200, 123456e3),
		"1772323200.1234569":  time.Unix(1772323200, 123456e3),
		"1.7723232e9":         time.Unix(1772323200, 0),
		"-1":                  time.Unix(-1, 0),
		"-0.0000001":          time.Unix(-1, 999999e3),
		"-1.5":                time.Unix(-2, 5e8),
		"99999999999":         time.Unix(99999999999, 0),
		"99999999999.9999999": time.Unix(99999999999, 999999e3),
		"100000000000":        time.Unix(100000000, 0),
		"1e11":                time.Unix(100000000, 0),
		"1772323200123":       time.Unix(1772323200, 123e6),
		"1772323200123.4567":  time.Unix(1772323200, 123456e3),
		"-100000000000":       time.Unix(-100000000, 0),
		"-1772323200123":      time.Unix(-1772323201, 877e6),
		"253402300799999":     time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC),
		"-62167219200":        time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		"1e-999999999":        time.Unix(0, 0),
		"0e999999999":         time.Unix(0, 0),
	} {
		got, err := ParseUnix(literal)
		if err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("ParseUnix(%s) = %v, %v, want %v", literal, got, err, want.UTC())
		}
	}
	for literal, want := range map[string]error{
		"253402300800000":          errInstantRange,
		"-62167219200.1":           errInstantRange,
		"-99999999999":             errInstantRange,
		"1e300":                    errInstantRange,
		"-1e999999999":             errInstantRange,
		"":                         errNotNumber,
		"NaN":                      errNotNumber,
		"01":                       errNotNumber,
		"1772323200Z":              errNotNumber,
		"0." + nines + nines:       nil,
		strings.Repeat("1", 10000): errLongNumber,
	} {
		if got, err := ParseUnix(literal); err != want {
			t.Errorf("ParseUnix(%.40s) = %v, %v, want %v", literal, got, err, want)
		}
	}
}

// instantShape is the grammar of ParseInstant but for the values of its parts.
var instantShape = regexp.MustCompile(`^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d(:?\d\d)?)?)?$`)

// strictShape is RFC 3339 in upper case. The standard library lets more through.
var strictShape = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func FuzzParseInstant(f *testing.F) {
	for _, s := range []string{
		"2026-03-01", "2026-03-01T09:30Z", "2026-03-01t09:30:15.123456789z", "2026-03-01 09:30:15+02", "2026-03-01T09:30:15-0530",
		"2026-03-01T09:30:15+02:00", "2026-02-29", "2026-03-01T24:00:00", "2016-12-31T23:59:60Z", "1772323200", "20260301T093015Z",
		"9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00Z",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseInstant(s)
		standard, other := time.Parse(time.RFC3339Nano, s)
		strict := other == nil && strictShape.MatchString(s)
		if err != nil {
			if strict && err != errInstantRange && len(s) <= maxInstant {
				t.Fatalf("ParseInstant(%q): %v, but it is %v", s, err, standard)
			}
			return
		}
		if !instantShape.MatchString(s) {
			t.Fatalf("ParseInstant(%q) = %v", s, got)
		}
		if strict && !standard.Truncate(time.Microsecond).Equal(got) {
			t.Fatalf("ParseInstant(%q) = %v, want %v", s, got, standard)
		}
		again, err := ParseInstant(got.Format("2006-01-02T15:04:05.000000Z07:00"))
		if err != nil || !again.Equal(got) {
			t.Fatalf("ParseInstant(%q) = %v, then %v, %v", s, got, again, err)
		}
	})
}

func FuzzParseUnix(f *testing.F) {
	for _, literal := range []string{
		"0", "-0", "1772323200", "1772323200.123456789", "1772323200123", "-1.5", "1e11", "99999999999.9999999",
		"1e999999999", "-1e-999999999", "253402300800000", "01", "NaN",
	} {
		f.Add(literal)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		got, err := ParseUnix(literal)
		if len(literal) > maxLiteral {
			return
		}
		if (err == errNotNumber) == isNumber(literal) {
			t.Fatalf("ParseUnix(%q): %v", literal, err)
		}
		if err != nil {
			return
		}
		if got.Year() < 0 || got.Year() > 9999 || got.Nanosecond()%1000 != 0 {
			t.Fatalf("ParseUnix(%q) = %v", literal, got)
		}
		exact, ok := exactly(literal, 1)
		if !ok {
			return
		}
		if limit := int64(1e11 * microsPerSecond); exact.IsInt64() && -limit < exact.Int64() && exact.Int64() < limit {
			if exact.Int64() != got.UnixMicro() {
				t.Fatalf("ParseUnix(%q) = %v, want %v", literal, got.UnixMicro(), exact)
			}
		}
	})
}
