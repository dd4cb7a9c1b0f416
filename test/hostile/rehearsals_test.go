package hostile

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// rehearses returns an attack that has schedules rehearsed, eight calls at once, by an
// account of its own.
func rehearses(name, asked string, n int, schedule string, headers ...string) attack {
	body := `{` + asked + `"schedules":[` + members(n, `{"key":"k%[1]d","url":"https://127.0.0.1:1443/",`+schedule+`}`) + `]}`
	return attack{name, func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 8, func(int) { s.rehearse(ctx, key, body, headers...) })
	}}
}

// rehearse has schedules rehearsed until the context ends.
func (s *strike) rehearse(ctx context.Context, key, body string, headers ...string) {
	s.sendTo(ctx, s.service.URL(), s.client, http.MethodPost, "/api/rehearse", key, []byte(body), headers...)
}

const (
	tenYears  = `"from":"2027-01-01T00:00:00Z","to":"2036-12-01T00:00:00Z",`
	eachClock = `"cron":"* * * * *","timezone":"Europe/Berlin"`
)

// rehearseAttacks are calls that ask for much computing.
var rehearseAttacks = []attack{
	rehearses("1,000 schedules each second for ten years", tenYears, 1000, `"repeat_every":1`),
	rehearses("1,000 schedules by the clock for ten years", tenYears, 1000, eachClock),
	rehearses("1,000 schedules that never run", tenYears, 1000, `"cron":"0 0 30 2 *"`),
	rehearses("1,000 schedules that rarely run", tenYears, 1000, `"cron":"0 0 29 2 1#5"`),
	rehearses("1,000 schedules that fail and are retried", tenYears+`"fail":{`+members(1000, `"k%d":1`)+`},`, 1000,
		`"repeat_every":60,"retries":20,"backoff":[1]`),
	rehearses("1,000 schedules whose runs expire", tenYears+`"outages":[{"at":"2027-01-01T00:00:00Z","for":[9,"weeks"]}],`, 1000,
		`"repeat_every":1,"catch_up":"all","expires_in":1`),
	rehearses("1,000 schedules that wait for one limit", tenYears+`"duration":{`+members(1000, `"k%d":600`)+`},`, 1000,
		`"repeat_every":60,"limits":["one"],"jitter":59`),
	rehearses("runs that last longer than their interval", tenYears+`"duration":{`+members(1000, `"k%d":[3000,"days"]`)+`},`, 1000,
		`"repeat_every":1`),
	rehearses("5,000 outages", tenYears+`"outages":[`+members(5000, `{"at":"2027-01-01T00:00:00Z","for":%d}`)+`],`, 1, eachClock),
	rehearses("shares of failures for 60,000 keys", `"fail":{`+members(60_000, `"f%d":0.5`)+`},`, 1, eachClock),
	rehearses("60,000 keys", `"keys":[`+members(60_000, `"f%d"`)+`],`, 1, eachClock),
	rehearses("schedules that leave out 300 ranges", tenYears, 200, eachClock+`,"except":`+list(`"2027-01-01/2027-12-31"`, 300)),
	rehearses("calendars of ten years", tenYears, 100, eachClock, "Accept", "text/calendar"),
	{"calls whose clients go away", func(ctx context.Context, s *strike) {
		key, body := s.own(), `{`+tenYears+`"schedules":[`+members(1000, `{"key":"k%d","url":"https://127.0.0.1:1443/",`+eachClock+`}`)+`]}`
		s.flood(ctx, 8, func(int) {
			leaving, leave := context.WithTimeout(ctx, 20*time.Millisecond)
			defer leave()
			s.rehearse(leaving, key, body)
		})
	}},
	{"edits that are rehearsed", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 8, func(n int) {
			s.call(http.MethodPut, fmt.Sprint("/api/schedules/key:k", n%100), key,
				[]byte(`{"url":"https://127.0.0.1:1443/","repeat_every":1}`))
			s.call(http.MethodPut, fmt.Sprint("/api/schedules/key:k", n%100), key,
				[]byte(`{"url":"https://127.0.0.1:1443/",`+eachClock+`}`), "Prefer", "rehearse")
		})
	}},
}
