package crontab_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// vixie is an expression as Vixie cron reads it (entry.c): a set of values for each field,
// and whether the fields of days begin with a star.
type vixie struct {
	fields           [5][60]bool
	domStar, dowStar bool
}

var (
	vixieLow   = [5]int{0, 0, 1, 1, 0}
	vixieHigh  = [5]int{59, 23, 31, 12, 7}
	vixieNames = [5]string{3: "   janfebmaraprmayjunjulaugsepoctnovdec", 4: "sunmontuewedthufrisat"}
)

// vixieValue reads a number or a name.
func vixieValue(field int, text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return strings.Index(vixieNames[field], strings.ToLower(text)) / 3
}

func readVixie(expr string) *vixie {
	v := &vixie{}
	for field, text := range strings.Fields(expr) {
		switch {
		case field == 2:
			v.domStar = text[0] == '*'
		case field == 4:
			v.dowStar = text[0] == '*'
		}
		for _, part := range strings.Split(text, ",") {
			span, by, stepped := strings.Cut(part, "/")
			step := 1
			if stepped {
				step, _ = strconv.Atoi(by)
			}
			low, high := vixieLow[field], vixieHigh[field]
			if from, to, ranged := strings.Cut(span, "-"); span != "*" {
				low = vixieValue(field, from)
				if high = low; ranged {
					high = vixieValue(field, to)
				}
			}
			for n := low; n <= high; n += step {
				v.fields[field][n] = true
			}
		}
	}
	sunday := v.fields[4][0] || v.fields[4][7]
	v.fields[4][0], v.fields[4][7] = sunday, sunday
	return v
}

// day reports whether a day matches: both fields of days if one begins with a star, else
// either.
func (v *vixie) day(t time.Time) bool {
	dom, dow := v.fields[2][t.Day()], v.fields[4][t.Weekday()]
	if v.domStar || v.dowStar {
		return v.fields[3][t.Month()] && dom && dow
	}
	return v.fields[3][t.Month()] && (dom || dow)
}

// next returns the first matching minute after a time, by looking at all; zero if there is
// none in 41 years.
func (v *vixie) next(after time.Time) time.Time {
	t := after.Truncate(time.Minute).Add(time.Minute)
	for end := after.AddDate(41, 0, 0); t.Before(end); {
		switch {
		case !v.day(t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
		case !v.fields[1][t.Hour()]:
			t = t.Truncate(time.Hour).Add(time.Hour)
		case !v.fields[0][t.Minute()]:
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return time.Time{}
}

// randomVixie returns an expression of five fields.
func randomVixie(g *rand.Rand) string {
	var fields []string
	for field := range 5 {
		low, high := vixieLow[field], vixieHigh[field]
		value := func(n int) string {
			names := strings.TrimSpace(vixieNames[field])
			at := 3 * (n - low)
			if names == "" || at >= len(names) || g.IntN(2) == 0 {
				return strconv.Itoa(n)
			}
			if name := names[at : at+3]; g.IntN(2) == 0 {
				return strings.ToUpper(name)
			} else {
				return name
			}
		}
		var parts []string
		for range 1 + g.IntN(3)/2*g.IntN(3) {
			a := low + g.IntN(high-low+1)
			b := a + g.IntN(high-a+1)
			part := []string{"*", "*", value(a), fmt.Sprintf("%s-%s", value(a), value(b))}[g.IntN(4)]
			if strings.ContainsAny(part, "*-") && g.IntN(3) == 0 {
				part += "/" + strconv.Itoa(1+g.IntN((high-low)/2+1))
			}
			parts = append(parts, part)
		}
		fields = append(fields, strings.Join(parts, ","))
	}
	return strings.Join(fields, " ")
}

// TestParse_RunsWhenVixieCronDoes compares the times of random lines, as they are imported,
// with those that Vixie cron's rules give.
func TestParse_RunsWhenVixieCronDoes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := rand.New(rand.NewPCG(seed, 5))
	for range 3000 {
		expr := randomVixie(g)
		imported, err := only(t, expr+" curl https://example.com/", crontab.Options{})
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, expr, err)
		}
		cron, err := schedule.ParseCron(rawjson.Text(rawjson.Get(rawjson.Value(imported), "cron")), time.UTC)
		want := readVixie(expr)
		at := time.Date(2024+g.IntN(6), 1, 1+g.IntN(365), g.IntN(24), g.IntN(60), g.IntN(60), 0, time.UTC)
		if err != nil {
			if next := want.next(at); !next.IsZero() {
				t.Fatalf("seed %d: %s: %v, but it runs at %s", seed, expr, err, next)
			}
			continue
		}
		for range 4 {
			next := want.next(at)
			if got := cron.Next(time.Time{}, at); !got.Equal(next) {
				t.Fatalf("seed %d: %s after %s: got %s, want %s", seed, expr, at, got, next)
			}
			if at = next; next.IsZero() {
				break
			}
		}
	}
}
