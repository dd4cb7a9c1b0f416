package job

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestRead_OptionsOfSchedules(t *testing.T) {
	const daily = `"repeat_every":[1,"day"],`
	many := strings.TrimSuffix(strings.Repeat(`"2031-12-25",`, 367), ",")
	for members, want := range map[string]string{
		`"expires_in":[2,"hours"]`:    "",
		`"expires_in":0`:              "",
		`"expires_in":-1`:             "#/expires_in",
		`"expires_in":"soon"`:         "#/expires_in",
		`"expires_in":[1,"month"]`:    "#/expires_in/1",
		`"expires_in":["1","hour"]`:   "#/expires_in/0",
		`"expires_in":[1]`:            "#/expires_in",
		`"expires_in":[9999,"weeks"]`: "#/expires_in/0",

		`"catch_up":"one"`:           "#/catch_up",
		daily + `"catch_up":"none"`:  "",
		daily + `"catch_up":null`:    "",
		daily + `"catch_up":"some"`:  "#/catch_up",
		daily + `"catch_up":true`:    "#/catch_up",
		daily + `"catch_up":["all"]`: "#/catch_up",

		daily + `"max_runs":1000000000`: "",
		daily + `"max_runs":0`:          "#/max_runs",
		daily + `"max_runs":1000000001`: "#/max_runs",
		daily + `"max_runs":1.5`:        "#/max_runs",
		daily + `"max_runs":"3"`:        "#/max_runs",
		`"max_runs":3`:                  "#/max_runs",

		daily + `"ends_at":"2133-01-01"`:         "",
		daily + `"ends_at":5000000000`:           "",
		daily + `"ends_at":"some day"`:           "#/ends_at",
		daily + `"ends_at":"2033-02-30"`:         "#/ends_at",
		daily + `"ends_at":[5,"days"]`:           "#/ends_at",
		daily + `"ends_at":true,"max_runs":-1`:   "#/ends_at #/max_runs",
		daily + `"ends_at":"2020-01-01"`:         "#/ends_at",
		`"ends_at":"2133-01-01"`:                 "#/ends_at",
		`"repeat_every":1,"ends_at":"1970-01-1"`: "#/ends_at",

		`"repeat_every":[1,"hour"],"jitter":3599.999999`:        "",
		`"repeat_every":[1,"hour"],"jitter":3600`:               "#/jitter",
		`"repeat_every":[1,"hour"],"jitter":[2,"hours"]`:        "#/jitter",
		`"repeat_every":[1,"hour"],"jitter":-1`:                 "#/jitter",
		`"repeat_every":[1,"hour"],"jitter":"little"`:           "#/jitter",
		`"repeat_every":[1,"hour"],"jitter":[1,"month"]`:        "#/jitter/1",
		daily + `"ends_at":"2026-04-01","jitter":[3652,"days"]`: "#/jitter", // not ends_at too, which the shift would pass
		`"cron":"*/5 * * * *","jitter":299`:                     "",
		`"cron":"*/5 * * * *","jitter":300`:                     "#/jitter",
		`"cron":"0,3 9 * * *","jitter":179`:                     "",
		`"cron":"0,3 9 * * *","jitter":180`:                     "#/jitter",
		`"cron":"0 0 1 * *","jitter":[27,"days"]`:               "",
		`"cron":"0 0 0 * *","jitter":1`:                         "#/cron",
		`"jitter":1`:                                            "#/jitter",

		daily + `"except":["2031-12-25","2031-12-24/2032-01-02"]`: "",
		daily + `"except":[]`:                                                                                      "",
		daily + `"except":["2031-12-25","2031-02-30"]`:                                                             "#/except/1",
		daily + `"except":["2031-1-5"]`:                                                                            "#/except/0",
		daily + `"except":["2031-03-05/2031-03-01"]`:                                                               "#/except/0",
		daily + `"except":["2031-03-01/2031-03-02/2031-03-03","x",20310301]`:                                       "#/except/0 #/except/1 #/except/2",
		daily + `"except":"2031-12-25"`:                                                                            "#/except",
		daily + `"except":[` + many + `]`:                                                                          "#/except",
		daily + `"except":["2020-01-01/9999-12-31"]`:                                                               "#/except",
		`"cron":"0 9 25 12 *","except":["2020-01-01/9999-12-31"]`:                                                  "#/except",
		`"cron":"0 9 * * *","scheduled_at":"2031-03-01","ends_at":"2031-03-03"`:                                    "",
		`"cron":"0 9 * * *","scheduled_at":"2031-03-01","ends_at":"2031-03-01T08:59"`:                              "#/ends_at",
		`"cron":"0 9 * * *","scheduled_at":"2031-03-01","ends_at":"2031-03-03","except":["2031-03-01/2031-03-02"]`: "#/except",
	} {
		if got := pointersOf(t, members); got != want {
			t.Errorf("%.80s: problems at %q, want %q", members, got, want)
		}
	}
}

func TestRead_GridOfASchedule(t *testing.T) {
	now := time.Date(2026, 9, 1, 18, 0, 0, 0, time.UTC)
	id := uuid.MustParse("01a201a2-d397-72f2-8bb1-b633dd667e22")
	for _, c := range []struct{ members, begin, due, fires string }{
		{`"repeat_every":60`, "2026-09-01T18:00:00", "2026-09-01T18:00:00", "2026-09-01T18:00:00"},
		{`"repeat_every":60,"scheduled_at":"2026-08-01"`, "2026-08-01T00:00:00", "2026-08-01T00:00:00", "2026-09-01T18:00:00"},
		{`"repeat_every":[7,"hours"],"except":["2026-09-01"]`, "2026-09-01T18:00:00", "2026-09-02T01:00:00", "2026-09-02T01:00:00"},
		{`"cron":"0 9 * * *","scheduled_at":"2026-08-01"`, "2026-09-01T18:00:00", "2026-09-02T09:00:00", "2026-09-02T09:00:00"},
		{`"cron":"0 9 * * *","except":["2026-09-02/2026-09-05"]`, "2026-09-01T18:00:00", "2026-09-06T09:00:00", "2026-09-06T09:00:00"},
		{`"cron":"0 9 * * *","jitter":[1,"hour"]`, "2026-09-01T18:00:00", "2026-09-02T09:43:27.636919", "2026-09-02T09:43:27.636919"},
		{`"repeat_every":[1,"day"],"scheduled_at":"2026-09-09","jitter":[1,"hour"]`, "2026-09-09T00:00:00", "2026-09-09T00:43:27.636919",
			"2026-09-09T00:43:27.636919"},
	} {
		draft, err := Read(rawjson.Value(`{"url":"https://example.com/",`+c.members+`}`), ReadOptions{Now: now, Schedule: id})
		if err != nil {
			t.Errorf("%s: %v", c.members, err)
			continue
		}
		const layout = "2006-01-02T15:04:05.999999"
		if got := []string{draft.Grid.Begin.Format(layout), draft.ScheduledAt.Format(layout),
			draft.DueAt.Format(layout)}; got[0] != c.begin || got[1] != c.due || got[2] != c.fires || draft.ScheduleID != id {
			t.Errorf("%s: begins at %s, due at %s, fires at %s", c.members, got[0], got[1], got[2])
		}
		s := Schedule{ID: draft.ScheduleID, FirstDue: draft.Grid.Begin, Args: draft.Args}
		grid, _ := s.Grid()
		if again := grid.First(s.FirstDue); !again.Equal(draft.ScheduledAt) {
			t.Errorf("%s: the stored schedule is first due at %v", c.members, again)
		}
	}
	one, _ := Read(rawjson.Value(`{"url":"https://example.com/","repeat_every":1}`), ReadOptions{Now: now})
	two, _ := Read(rawjson.Value(`{"url":"https://example.com/","repeat_every":1}`), ReadOptions{Now: now})
	if one.ScheduleID == uuid.Nil || one.ScheduleID == two.ScheduleID {
		t.Errorf("two schedules have the ids %s and %s", one.ScheduleID, two.ScheduleID)
	}
}
