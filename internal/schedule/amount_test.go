package schedule

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
)

func TestUnitSeconds(t *testing.T) {
	for word, want := range map[string]int64{
		"second": 1, "seconds": 1, "minute": 60, "MINUTES": 60, "Hour": 3600, "hours": 3600,
		"day": 86400, "dayS": 86400, "week": 604800, "weeks": 604800,
	} {
		if got, ok := UnitSeconds(word); got != want || !ok {
			t.Errorf("UnitSeconds(%q) = %d, %t, want %d", word, got, ok, want)
		}
	}
	for _, word := range []string{"", "s", "sec", "secondss", "month", "year", " day", "day ", "days\x00"} {
		if got, ok := UnitSeconds(word); got != 0 || ok {
			t.Errorf("UnitSeconds(%q) = %d, %t", word, got, ok)
		}
	}
}

func TestParseAmount(t *testing.T) {
	third := "0." + strings.Repeat("3", 500)
	for _, c := range []struct {
		literal string
		unit    int64
		want    int64
	}{
		{"0", 1, 0},
		{"-0", 1, 0},
		{"0.0e99", 1, 0},
		{"30", 1, 30e6},
		{"1.5", 60, 90e6},
		{"0.1", 1, 1e5},
		{"0.3", 86400, 25920e6},
		{"1.10", 604800, 665280e6},
		{"2.5E+1", 1, 25e6},
		{"25e-1", 1, 25e5},
		{"1e0", 3600, 3600e6},
		{"0.000001", 1, 1},
		{"0.0000019", 1, 1},
		{"0.0000009", 1, 0},
		{"0.0000009", 60, 54},
		{"-0.0000015", 1, -2},
		{"-0.0000001", 1, -1},
		{third, 3600, 1199999999},
		{third + "4", 3600, 1200000000},
		{"-1e-999999999", 604800, -1},
		{"1e-999999999", 604800, 0},
		{"0e999999999", 1, 0},
		{"1e" + strings.Repeat("0", 900) + "1", 1, 10e6},
		{"0." + strings.Repeat("0", 900) + "1e901", 1, 1e6},
		{"1" + strings.Repeat("0", 900) + "e-900", 1, 1e6},
		{"9223372036854.775807", 1, math.MaxInt64},
		{"9223372036854.7758079", 1, math.MaxInt64},
		{"-9223372036854.775808", 1, math.MinInt64},
	} {
		if got, err := ParseAmount(c.literal, c.unit); got != c.want || err != nil {
			t.Errorf("ParseAmount(%.40s, %d) = %d, %v, want %d", c.literal, c.unit, got, err, c.want)
		}
	}
}

func TestParseAmountRefuses(t *testing.T) {
	for literal, want := range map[string]error{
		"9223372036854.775808":       errAmountRange,
		"-9223372036854.775808001":   errAmountRange,
		"9223372036855":              errAmountRange,
		"1e999999999":                errAmountRange,
		"-1e999999999":               errAmountRange,
		"1e99999999999999999999":     errAmountRange,
		"123e17":                     errAmountRange,
		strings.Repeat("9", 1000):    errAmountRange,
		strings.Repeat("9", 1001):    errLongNumber,
		"":                           errNotNumber,
		"-":                          errNotNumber,
		"+1":                         errNotNumber,
		"--1":                        errNotNumber,
		"01":                         errNotNumber,
		".5":                         errNotNumber,
		"5.":                         errNotNumber,
		"1.e5":                       errNotNumber,
		"1e":                         errNotNumber,
		"1e+":                        errNotNumber,
		"1e+-1":                      errNotNumber,
		"1e1.5":                      errNotNumber,
		"1 ":                         errNotNumber,
		" 1":                         errNotNumber,
		"1_000":                      errNotNumber,
		"0x10":                       errNotNumber,
		"NaN":                        errNotNumber,
		"Infinity":                   errNotNumber,
		"-Infinity":                  errNotNumber,
		"\"1\"":                      errNotNumber,
		"١":                          errNotNumber,
		"1e5" + string(rune(0x0665)): errNotNumber,
	} {
		if got, err := ParseAmount(literal, 1); got != 0 || err != want {
			t.Errorf("ParseAmount(%.40q) = %d, %v, want %v", literal, got, err, want)
		}
	}
}

// isNumber reports whether JSON takes s for a number, and nothing around it.
func isNumber(s string) bool {
	return s != "" && json.Valid([]byte(s)) && (s[0] == '-' || isDigit(s[0])) && isDigit(s[len(s)-1])
}

func FuzzParseAmount(f *testing.F) {
	for _, literal := range []string{
		"0", "-0", "30", "1.5", "0.0000019", "-1e-7", "2.5E+1", "1e999999999", "-1e-999999999",
		"9223372036854.775807", "9223372036854.775808", "01", "1.", "NaN",
	} {
		f.Add(literal, uint8(0))
		f.Add(literal, uint8(4))
	}
	units := []int64{1, 60, 3600, secondsPerDay, 7 * secondsPerDay}
	f.Fuzz(func(t *testing.T, literal string, which uint8) {
		unit := units[int(which)%len(units)]
		got, err := ParseAmount(literal, unit)
		if len(literal) > maxLiteral {
			return
		}
		if (err == errNotNumber) == isNumber(literal) {
			t.Fatalf("ParseAmount(%q): %v", literal, err)
		}
		exact, ok := exactly(literal, unit)
		if !ok || err == errNotNumber {
			return
		}
		if fits := exact.IsInt64(); fits != (err == nil) || fits && exact.Int64() != got {
			t.Fatalf("ParseAmount(%q, %d) = %d, %v, want %v", literal, unit, got, err, exact)
		}
	})
}

// exactly computes literal * unit in microseconds, rounded down, as a fraction;
// it is false where that would take too long.
func exactly(literal string, unit int64) (*big.Int, bool) {
	if i := strings.IndexAny(literal, "eE"); i >= 0 && len(literal)-i > 5 {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(literal)
	if !ok {
		return nil, false
	}
	r.Mul(r, new(big.Rat).SetInt64(unit*microsPerSecond))
	return new(big.Int).Div(r.Num(), r.Denom()), true
}

func BenchmarkParseAmount(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseAmount("1.5", 60); err != nil {
			b.Fatal(err)
		}
	}
}

// A literal of the greatest length must not be a way to keep a node busy.
func TestParseAmountIsFast(t *testing.T) {
	const enough = time.Second
	least := time.Hour
	for try := 0; try < 10 && least > enough; try++ { // a busy machine may stand still in one
		began := time.Now()
		for range 100 {
			_, _ = ParseAmount("0."+strings.Repeat("9", maxLiteral-10)+"e-9999", 1)
			_, _ = ParseAmount(strings.Repeat("9", maxLiteral-5)+"e-980", 1)
		}
		least = min(least, time.Since(began))
	}
	if least > enough {
		t.Errorf("200 literals took %v at least", least)
	}
}
