package schedule

import (
	"math/bits"
	"strings"
	"testing"
	"time"
)

// set makes a set from its members.
func set(members ...int) (s uint64) {
	for _, n := range members {
		s |= 1 << n
	}
	return s
}

func TestParseCronSets(t *testing.T) {
	all := pattern{
		minutes: 1<<60 - 1, hours: 1<<24 - 1, days: 1<<32 - 2, months: 1<<13 - 2, weekdays: 1<<7 - 1,
		both: true, watched: true,
	}
	with := func(change func(*pattern)) pattern {
		p := all
		change(&p)
		return p
	}
	for expr, want := range map[string]pattern{
		"* * * * *":             all,
		" \t*  * *\n* * ":       all,
		"*/1 * * * *":           all,
		"5 * * * *":             with(func(p *pattern) { p.minutes = set(5) }),
		"05 * * * *":            with(func(p *pattern) { p.minutes = set(5) }),
		"3/20 * * * *":          with(func(p *pattern) { p.minutes = set(3, 23, 43) }),
		"*/25 * * * *":          with(func(p *pattern) { p.minutes = set(0, 25, 50) }),
		"*/60 * * * *":          with(func(p *pattern) { p.minutes = set(0) }),
		"59/60 * * * *":         with(func(p *pattern) { p.minutes = set(59) }),
		"1-3,7,50-59/4 * * * *": with(func(p *pattern) { p.minutes = set(1, 2, 3, 7, 50, 54, 58) }),
		"5-5 * * * *":           with(func(p *pattern) { p.minutes = set(5) }),
		"*,5 * * * *":           all,
		"* 9-17/2 * * *":        with(func(p *pattern) { p.hours = set(9, 11, 13, 15, 17) }),
		"0-59 * * * *":          all,
		"0-59 0-23 * * *":       with(func(p *pattern) { p.watched = false }),
		"* * 1,31 * *":          with(func(p *pattern) { p.days = set(1, 31) }),
		"* * */10 * 1":          with(func(p *pattern) { p.days = set(1, 11, 21, 31); p.weekdays = set(1) }),
		"* * 1 * 1":             with(func(p *pattern) { p.days = set(1); p.weekdays = set(1); p.both = false }),
		"* * 1 * */2":           with(func(p *pattern) { p.days = set(1); p.weekdays = set(0, 2, 4, 6) }),
		"* * 1-31 * 0-6":        with(func(p *pattern) { p.both = false }),
		"* * * JAN *":           with(func(p *pattern) { p.months = set(1) }),
		"* * * jan,Feb-aPr *":   with(func(p *pattern) { p.months = set(1, 2, 3, 4) }),
		"* * * OCT/1 *":         with(func(p *pattern) { p.months = set(10, 11, 12) }),
		"* * * * MON-FRI":       with(func(p *pattern) { p.weekdays = set(1, 2, 3, 4, 5) }),
		"* * * * mon-5":         with(func(p *pattern) { p.weekdays = set(1, 2, 3, 4, 5) }),
		"* * * * FRI-SUN":       with(func(p *pattern) { p.weekdays = set(5, 6, 0) }),
		"* * * * SUN-SUN":       with(func(p *pattern) { p.weekdays = set(0) }),
		"* * * * SUN-TUE":       with(func(p *pattern) { p.weekdays = set(0, 1, 2) }),
		"* * * * 7":             with(func(p *pattern) { p.weekdays = set(0) }),
		"* * * * 0,7":           with(func(p *pattern) { p.weekdays = set(0) }),
		"* * * * 5-7":           with(func(p *pattern) { p.weekdays = set(5, 6, 0) }),
		"* * * * 0-7":           all,
		"* * * * 1-7/2":         with(func(p *pattern) { p.weekdays = set(1, 3, 5, 0) }),
		"* * * * 1/2":           with(func(p *pattern) { p.weekdays = set(1, 3, 5) }),
		"* * * * 7/2":           with(func(p *pattern) { p.weekdays = set(0) }),

		"* * ? * 1":             with(func(p *pattern) { p.weekdays = set(1) }),
		"* * 1 * ?":             with(func(p *pattern) { p.days = set(1) }),
		"* * ? * ?":             all,
		"* * L * *":             with(func(p *pattern) { p.days, p.fromEnd = 0, set(0) }),
		"* * l,L-3,L-30 * *":    with(func(p *pattern) { p.days, p.fromEnd = 0, set(0, 3, 30) }),
		"* * 1,15w,LW,31W * *":  with(func(p *pattern) { p.days, p.nearest = set(1), set(0, 15, 31) }),
		"* * L * 5":             with(func(p *pattern) { p.days, p.fromEnd, p.weekdays, p.both = 0, set(0), set(5), false }),
		"* * * * 5L,sunL,7L,0L": with(func(p *pattern) { p.weekdays, p.lastWeekday = 0, set(0, 5) }),
		"* * * * MON#2,1#5,7#2": with(func(p *pattern) { p.weekdays, p.nthWeekday = 0, [5]uint64{1: set(0, 1), 4: set(1)} }),
		"* * * * TUE,FRIL":      with(func(p *pattern) { p.weekdays, p.lastWeekday = set(2), set(5) }),

		"@hourly": {minutes: set(0), hours: all.hours, days: all.days, months: all.months, weekdays: all.weekdays, both: true,
			watched: true},
		"@daily":    {minutes: set(0), hours: set(0), days: all.days, months: all.months, weekdays: all.weekdays, both: true},
		"@Weekly":   {minutes: set(0), hours: set(0), days: all.days, months: all.months, weekdays: set(0), both: true},
		" @monthly": {minutes: set(0), hours: set(0), days: set(1), months: all.months, weekdays: all.weekdays, both: true},
		"@YEARLY":   {minutes: set(0), hours: set(0), days: set(1), months: set(1), weekdays: all.weekdays, both: true},
	} {
		c, err := ParseCron(expr, nil)
		if err != nil {
			t.Errorf("ParseCron(%q): %v", expr, err)
			continue
		}
		if c.pattern != want {
			t.Errorf("ParseCron(%q)\n got %+v\nwant %+v", expr, c.pattern, want)
		}
		if c.String() != expr || c.Location() != time.UTC {
			t.Errorf("ParseCron(%q) keeps %q in %v", expr, c, c.Location())
		}
	}
}

func TestParseCronRefuses(t *testing.T) {
	for expr, want := range map[string]string{
		"":                                "is empty; give five: minute hour day-of-month month day-of-week",
		" \t":                             "is empty",
		"*":                               "has 1 field; give five",
		"* * * *":                         "has 4 fields; give five",
		"0 0 9 * * *":                     `has 6 fields; drop the first, seconds: "0 9 * * *"`,
		"0 9 * * 1-5 2026":                `has 6 fields; drop the last, the year: "0 9 * * 1-5"`,
		"0 9 * * ? *":                     `has 6 fields; drop the last, the year: "0 9 * * ?"`,
		"0 0 9 * * ?":                     `has 6 fields; drop the first, seconds: "0 9 * * ?"`,
		"0 0 9 * * ? 2026":                `has 7 fields; drop the first, seconds, and the last, the year: "0 9 * * ?"`,
		"0 * * * * * * *":                 "has 8 fields; give five: minute hour day-of-month month day-of-week",
		"*\u00a0* * * *":                  "has 4 fields",
		"*\u00a0 * * * *":                 `isn't a number from 0 to 59`,
		"TZ=Europe/London * * * * *":      "timezone",
		"CRON_TZ=UTC 0 0 * * *":           "timezone",
		"cron_tz=UTC @daily":              "timezone",
		"TZ= ":                            "timezone",
		"@reboot":                         "@reboot",
		"@every 5m":                       "repeat_every",
		"@annually":                       "the known names are @hourly, @daily, @weekly, @monthly and @yearly",
		"@midnight":                       "the known names are",
		"@":                               "the known names are",
		"@daily * * * *":                  "give nothing else",
		"60 * * * *":                      `has "60" as its minute: "60" isn't a number from 0 to 59`,
		"* 24 * * *":                      "isn't a number from 0 to 23",
		"* * 0 * *":                       "isn't a number from 1 to 31",
		"* * 32 * *":                      "isn't a number from 1 to 31",
		"* * * 0 *":                       "isn't a number from 1 to 12 or a name from JAN to DEC",
		"* * * 13 *":                      "isn't a number from 1 to 12",
		"* * * * 8":                       "isn't a number from 0 to 7 or a name from SUN to SAT",
		"99999999999999999999999 * * * *": "isn't a number from 0 to 59",
		"30-10 * * * *":                   `the range "30-10" is reversed`,
		"* * * * 5-0":                     "reversed",
		"* * * * FRI-0":                   "reversed",
		"* * * * 7-1":                     "reversed",
		"* * * * SAT-MON":                 "reversed",
		"* * * DEC-JAN *":                 "reversed",
		"*/0 * * * *":                     `"0" can't be a step; give a number from 1 to 60`,
		"*/61 * * * *":                    "can't be a step",
		"* */25 * * *":                    "give a number from 1 to 24",
		"* * * * */8":                     "give a number from 1 to 7",
		"*/-1 * * * *":                    "can't be a step",
		"*/ * * * *":                      "can't be a step",
		"*/1/2 * * * *":                   "can't be a step",
		"* * * * */MON":                   "can't be a step",
		"/5 * * * *":                      "isn't a number",
		"-5 * * * *":                      "isn't a number",
		"+5 * * * *":                      "isn't a number",
		"5- * * * *":                      "isn't a number",
		"1-2-3 * * * *":                   "isn't a number",
		"1.5 * * * *":                     "isn't a number",
		"1e1 * * * *":                     "isn't a number",
		"0x1 * * * *":                     "isn't a number",
		"٣ * * * *":                       "isn't a number",
		"** * * * *":                      "isn't a number",
		"*5 * * * *":                      "isn't a number",
		"*-5 * * * *":                     "isn't a number",
		"5-* * * * *":                     "isn't a number",
		"1,,2 * * * *":                    "a part of the list is empty",
		",1 * * * *":                      "a part of the list is empty",
		"1, * * * *":                      "a part of the list is empty",
		"? * * * *":                       `has "?" as its minute: "?" isn't a number from 0 to 59; ? works only for day-of-month and day-of-week`,
		"* * * ? *":                       "? works only for day-of-month and day-of-week",
		"* * 1,? * *":                     `"?" isn't a number from 1 to 31; ? must be the whole field`,
		"* * ?/2 * *":                     "? must be the whole field",
		"* * * * ?#2":                     "? must be the whole field",
		"L * * * *":                       `"L" isn't a number from 0 to 59; L works only for day-of-month, as in L or L-3, and day-of-week, as in 5L`,
		"* L * * *":                       `has "L" as its hour: "L" isn't a number from 0 to 23; L works only for`,
		"* * * L *":                       `has "L" as its month: "L" isn't a number from 1 to 12 or a name from JAN to DEC; L works only for`,
		"* 5W * * *":                      "W works only for day-of-month, as in 15W",
		"* * 1#2 * *":                     `"1#2" isn't a number from 1 to 31; # works only for day-of-week, as in MON#2`,
		"* * 0W * *":                      `has "0W" as its day-of-month: "0W" has no day of the month before W; give 1W to 31W, or LW`,
		"* * 32W * *":                     "give 1W to 31W, or LW",
		"* * W * *":                       "give 1W to 31W, or LW",
		"* * 1-5W * *":                    "give 1W to 31W, or LW",
		"* * *W * *":                      "give 1W to 31W, or LW",
		"* * WL * *":                      `"WL" isn't a day of the month; write L, L-3, 15W or LW`,
		"* * LL * *":                      "write L, L-3, 15W or LW",
		"* * L/2 * *":                     "write L, L-3, 15W or LW",
		"* * 5-L * *":                     "write L, L-3, 15W or LW",
		"* * JUL * *":                     "write L, L-3, 15W or LW",
		"* * L-0 * *":                     `"L-0" doesn't count back from the last day; give L-1 to L-30`,
		"* * L-31 * *":                    "give L-1 to L-30",
		"* * L- * *":                      "give L-1 to L-30",
		"* * L-3W * *":                    `"L-3W" doesn't count back from the last day`,
		"* * * * L":                       `"L" needs a day of the week before it, as in 5L or FRIL`,
		"* * * * 8L":                      `has "8L" as its day-of-week: "8" isn't a number from 0 to 7 or a name from SUN to SAT`,
		"* * * * MON-FRIL":                `"MON-FRI" isn't a number from 0 to 7`,
		"* * * * 15W":                     "W works only for day-of-month, as in 15W",
		"* * * * MON#6":                   `has "MON#6" as its day-of-week: "6" can't follow #; give a number from 1 to 5`,
		"* * * * MON#0":                   "can't follow #",
		"* * * * MON#":                    "can't follow #",
		"* * * * MON#2#3":                 `"2#3" can't follow #`,
		"* * * * #2":                      `"" isn't a number from 0 to 7`,
		"* * * * 5L/2":                    `"5L" isn't a number from 0 to 7 or a name from SUN to SAT; L works only for`,
		"60 25 * * *":                     `has "60" as its minute: "60" isn't a number from 0 to 59; it has "25" as its hour: "25" isn't a number from 0 to 23`,
		"0 0 L-30 2 *":                    "never fires",
		"0 0 30W 2 ?":                     "never fires",
		"0 0 L-30 4,6,9,11 *":             "never fires",
		"MON * * * *":                     "isn't a number from 0 to 59",
		"* * JAN * *":                     "isn't a number from 1 to 31",
		"* * * MON *":                     "or a name from JAN to DEC",
		"* * * * JAN":                     "or a name from SUN to SAT",
		"* * * * MONDAY":                  "or a name from SUN to SAT",
		"* * * * UNM":                     "or a name from SUN to SAT",
		"* * * * ſUN":                     "or a name from SUN to SAT",
		"* * * * ſU":                      "or a name from SUN to SAT",
		"H * * * *":                       "isn't a number",
		"0~5 * * * *":                     "isn't a number",
		"a b c d e":                       "isn't a number",
		"0 0 30 2 *":                      "never fires",
		"0 0 30,31 FEB */2":               "never fires",
		"0 0 31 4,6,9,11 *":               "never fires",
		"0" + strings.Repeat(",0", 500) + " * * * *": "has 1009 bytes; give at most 1000",
	} {
		c, err := ParseCron(expr, nil)
		if err == nil {
			t.Errorf("ParseCron(%q) = %+v, want an error", expr, c.pattern)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("ParseCron(%q): %q, want %q in it", expr, err, want)
		}
	}
}

func TestParseCronAcceptsRareDates(t *testing.T) {
	for _, expr := range []string{"0 0 29 2 *", "0 0 31 2 1", "0 0 29 2 */7", "0 0 31 1,2 *", "0 0 29W 2 *", "0 0 L-28 2 *",
		"0 0 * 2 SUN#5"} {
		if _, err := ParseCron(expr, nil); err != nil {
			t.Errorf("ParseCron(%q): %v", expr, err)
		}
	}
}

// In Havana the 8th of March, when it is a Sunday, always lacks its first hour.
func TestParseCronNeverFiresInZone(t *testing.T) {
	const expr = "* 0 8 3 */7"
	if _, err := ParseCron(expr, zone(t, "America/Havana")); err == nil {
		t.Error("accepted in Havana")
	}
	if _, err := ParseCron(expr, nil); err != nil {
		t.Error(err)
	}
}

func FuzzParseCron(f *testing.F) {
	for _, expr := range []string{
		"* * * * *", "*/15 9-17 * * MON-FRI", "3/20 0 1,15 JAN */2", "0 0 29 2 *", "0 0 29 2 */7", "0 0 30 2 *",
		"5-7,59 23 31 12 5-7", "@daily", "@every 1s", "TZ=UTC * * * * *", "0 0 L * ?", "* 0 8 3 */7",
		"99999999999999999999 * * * *", "*/0 * * * *", "1,,2 * * * *", "* * * * FRI-SUN",
		"0 9 L-3,LW,15W * *", "0 9 ? * 5L,MON#2", "0 0 29W 2 ?", "0 0 L-28 2 7#5", "0 0 * 2 SUN#5",
	} {
		f.Add(expr, int64(1772323200), uint8(0))
		f.Add(expr, int64(3981312000), uint8(1))
	}
	f.Fuzz(func(t *testing.T, expr string, unix int64, which uint8) {
		name := fixtureZones[int(which)%len(fixtureZones)]
		c, err := ParseCron(expr, zone(t, name))
		if err != nil {
			if c != nil || err.Error() == "" {
				t.Errorf("ParseCron(%q) = %v, %q", expr, c, err)
			}
			return
		}
		if bits.OnesCount64(c.minutes)*bits.OnesCount64(c.hours)*bits.OnesCount64(c.months) == 0 {
			t.Errorf("ParseCron(%q) has an empty field", expr)
		}
		const year9000 = 221845392000
		from := time.Unix(unix%year9000, 0)
		began := time.Now()
		first := c.Next(time.Time{}, from)
		second := c.Next(time.Time{}, first)
		if !first.After(from) || !second.After(first) {
			t.Errorf("%q in %s: %v, %v after %v", expr, name, first, second, from)
		}
		took := time.Since(began)
		for try := 0; try < 10 && took > time.Second; try++ { // a busy machine may stand still in one
			began = time.Now()
			_ = c.Next(time.Time{}, c.Next(time.Time{}, from))
			took = time.Since(began)
		}
		if took > time.Second {
			t.Errorf("%q in %s after %v took %v", expr, name, from, took)
		}
	})
}
