package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/schedule"
)

func TestDescribeIntervals(t *testing.T) {
	for every, want := range map[time.Duration]string{
		time.Second: "every second", 45 * time.Second: "every 45 seconds", 90 * time.Second: "every 90 seconds",
		1500 * time.Millisecond: "every 1.5 seconds", time.Minute: "every minute", 90 * time.Minute: "every 90 minutes",
		2 * time.Hour: "every 2 hours", 24 * time.Hour: "every day", 36 * time.Hour: "every 36 hours",
		7 * 24 * time.Hour: "every week", 10 * 24 * time.Hour: "every 10 days", 0: "every second",
	} {
		if got := schedule.Describe(schedule.Interval{Every: every}); got != want {
			t.Errorf("%v: %q, want %q", every, got, want)
		}
	}
	grid := &schedule.Grid{Frequency: schedule.Interval{Every: time.Hour}}
	if got := schedule.Describe(grid); got != "every hour" {
		t.Errorf("a grid: %q", got)
	}
}

func TestDescribeCron(t *testing.T) {
	for _, x := range []struct{ cron, zone, want string }{
		{"* * * * *", "UTC", "every minute"},
		{"*/15 * * * *", "UTC", "every 15 minutes"},
		{"*/15 * * * *", "Asia/Kathmandu", "every 15 minutes, Asia/Kathmandu"},
		{"3/20 * * * *", "UTC", "every 20 minutes from minute 3"},
		{"*/25 * * * *", "UTC", "every hour at minutes 0, 25 and 50"},
		{"0 * * * *", "UTC", "every hour"},
		{"@hourly", "UTC", "every hour"},
		{"5 * * * *", "UTC", "every hour at minute 5"},
		{"5,10-12,40 * * * *", "UTC", "every hour at minutes 5, 10 to 12 and 40"},
		{"0 9 * * *", "UTC", "every day at 09:00, UTC"},
		{"@daily", "Europe/Berlin", "every day at 00:00, Europe/Berlin"},
		{"0 9,17 * * *", "UTC", "every day at 09:00 and 17:00, UTC"},
		{"0,30 9,17 * * *", "UTC", "every day at 09:00, 09:30, 17:00 and 17:30, UTC"},
		{"0 9 * * MON-FRI", "Europe/Berlin", "every weekday at 09:00, Europe/Berlin"},
		{"0 9 * * 1", "UTC", "every Monday at 09:00, UTC"},
		{"0 9 * * SAT,SUN", "UTC", "every Saturday and Sunday at 09:00, UTC"},
		{"0 9 * * 7", "UTC", "every Sunday at 09:00, UTC"},
		{"@weekly", "UTC", "every Sunday at 00:00, UTC"},
		{"*/15 9-17 * * 1-5", "America/New_York", "every 15 minutes from 09:00 to 17:45 on weekdays, America/New_York"},
		{"* 9 * * *", "UTC", "every minute from 09:00 to 09:59, UTC"},
		{"30 9-17 * * *", "UTC", "every hour from 09:30 to 17:30, UTC"},
		{"0 */2 * * *", "UTC", "every 2 hours, UTC"},
		{"30 */2 * * *", "UTC", "every 2 hours from 00:30, UTC"},
		{"0 1/3 * * *", "UTC", "every 3 hours from 01:00, UTC"},
		{"0 */2 * * 1,3", "UTC", "every 2 hours on Mondays and Wednesdays, UTC"},
		{"0 */5 * * *", "UTC", "every day at 00:00, 05:00, 10:00, 15:00 and 20:00, UTC"},
		{"10,20 8,10,12-14 * * *", "UTC", "every hour at minutes 10 and 20 in hours 8, 10 and 12 to 14, UTC"},
		{"*/10 8,20 * * *", "UTC", "every 10 minutes in hours 8 and 20, UTC"},
		{"0 0 1 * *", "UTC", "on the 1st of every month at 00:00, UTC"},
		{"@yearly", "UTC", "on the 1st of January at 00:00, UTC"},
		{"0 6 1,15 * *", "UTC", "on the 1st and 15th of every month at 06:00, UTC"},
		{"0 6 2,3,11-13,22,31 * *", "UTC", "on the 2nd, 3rd, 11th to 13th, 22nd and 31st of every month at 06:00, UTC"},
		{"0 6 */2 * *", "UTC", "on every 2nd day of every month at 06:00, UTC"},
		{"0 6 2/5 * *", "UTC", "on every 5th day of every month from the 2nd at 06:00, UTC"},
		{"0 6 * JUN-AUG *", "UTC", "every day from June to August at 06:00, UTC"},
		{"0 6 1 1,4,7,10 *", "UTC", "on the 1st of January, April, July and October at 06:00, UTC"},
		{"0 6 * 12 MON", "UTC", "every Monday in December at 06:00, UTC"},
		{"*/5 * * 12 *", "UTC", "every 5 minutes in December, UTC"},
		{"*/5 * 24 12 *", "UTC", "every 5 minutes on the 24th of December, UTC"},
		{"0 0 13 * FRI", "UTC", "on the 13th of every month and every Friday at 00:00, UTC"},
		{"0 0 13 6 FRI", "UTC", "on the 13th of June and every Friday in June at 00:00, UTC"},
		{"0 9 L * *", "UTC", "on the last day of every month at 09:00, UTC"},
		{"0 9 L-3,LW * ?", "UTC", "on the last weekday and the 3rd day before the last of every month at 09:00, UTC"},
		{"0 9 1-3,15,15W,L 6 *", "UTC", "on the 1st to 3rd, 15th, the weekday nearest the 15th and the last day of June at 09:00, UTC"},
		{"0 9 ? * 5L", "UTC", "every last Friday of the month at 09:00, UTC"},
		{"*/5 9 * * MON#2,3#2,TUE", "UTC", "every 5 minutes from 09:00 to 09:55 on Tuesdays, the 2nd Monday of the month and the 2nd Wednesday of the month, UTC"},
		{"0 9 * DEC MON#1", "UTC", "every 1st Monday of the month in December at 09:00, UTC"},
		{"0 9 L * FRI", "UTC", "on the last day of every month and every Friday at 09:00, UTC"},
		{"0 9 */2 * 1L", "UTC", "on every 2nd day of every month (the last Monday of the month only) at 09:00, UTC"},
		{"0 9 */2 * MON", "UTC", "on every 2nd day of every month (Mondays only) at 09:00, UTC"},
	} {
		zone, err := schedule.LoadZone(x.zone)
		if err != nil {
			t.Fatal(err)
		}
		c, err := schedule.ParseCron(x.cron, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := schedule.Describe(c); got != x.want {
			t.Errorf("%s\n got %q\nwant %q", x.cron, got, x.want)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	for _, seed := range []string{"* * * * *", "*/15 9-17 * * 1-5", "5,10-12 */5 1,15 6 FRI", "@weekly", "0 9 L-3,15W,LW * ?",
		"0 9 ? * 5L,MON#2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		c, err := schedule.ParseCron(expression, time.UTC)
		if err != nil {
			return
		}
		text := schedule.Describe(c)
		if len(text) < len("every hour") || strings.Contains(text, "  ") || strings.TrimSpace(text) != text {
			t.Errorf("%q is described as %q", expression, text)
		}
	})
}
