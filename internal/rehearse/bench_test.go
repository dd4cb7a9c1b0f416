package rehearse

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// plan1000Daily is a year of 1,000 daily schedules: 365,000 runs.
func plan1000Daily(b *testing.B) *Plan {
	from := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &Plan{From: from, To: from.AddDate(1, 0, 0)}
	for i := range 1000 {
		p.Entries = append(p.Entries, entry(b, "k"+strconv.Itoa(i),
			fmt.Sprintf(`"cron":"%d %d * * *","timezone":"Europe/Berlin"`, i%60, i/60), from))
	}
	return p
}

// plan100Minutely is a year of 100 schedules that run each minute: 52,560,000 runs.
func plan100Minutely(b *testing.B) *Plan {
	from := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &Plan{From: from, To: from.AddDate(1, 0, 0), Runs: 60_000_000}
	for i := range 100 {
		p.Entries = append(p.Entries, entry(b, "k"+strconv.Itoa(i), `"cron":"* * * * *","timezone":"Europe/Berlin"`, from))
	}
	return p
}

// plan100MinutelyMonth is a month of them: 4,464,000 runs.
func plan100MinutelyMonth(b *testing.B) *Plan {
	p := plan100Minutely(b)
	p.To = p.From.AddDate(0, 1, 0)
	return p
}

// withOutcomes makes runs take time and some of them fail.
func withOutcomes(p *Plan) *Plan {
	p.Fail, p.Duration = map[string]float64{}, map[string]time.Duration{}
	for _, e := range p.Entries {
		p.Fail[*e.Schedule.Key], p.Duration[*e.Schedule.Key] = .01, 3*time.Second
	}
	return p
}

func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		name string
		plan func(*testing.B) *Plan
		want int64
	}{
		{"1000-daily-a-year/timing", plan1000Daily, 365_000},
		{"1000-daily-a-year/outcomes", func(b *testing.B) *Plan { return withOutcomes(plan1000Daily(b)) }, 365_000},
		{"100-minutely-a-month/timing", plan100MinutelyMonth, 4_464_000},
		{"100-minutely-a-month/outcomes", func(b *testing.B) *Plan { return withOutcomes(plan100MinutelyMonth(b)) }, 4_464_000},
		{"100-minutely-a-year/timing", plan100Minutely, 52_560_000},
		{"100-minutely-a-year/outcomes", func(b *testing.B) *Plan { return withOutcomes(plan100Minutely(b)) }, 52_560_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := mustRun(b, c.plan(b)); r.Runs != c.want || r.Cut != nil {
					b.Fatalf("%d runs, cut %+v", r.Runs, r.Cut)
				}
			}
		})
	}
}
