package hostile

import (
	"context"
	"fmt"
	"net/http"
)

// reads returns an attack that reads a path of an account with large records,
// from n clients at once.
func reads(name string, n int, path string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		key := s.large()
		s.flood(ctx, n, func(int) { s.call(http.MethodGet, path, key, nil) })
	}}
}

// lingers returns an attack that reads a stream slowly, n at once.
func lingers(name string, n int, path string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		key := s.large()
		s.flood(ctx, n, func(int) { s.linger(ctx, path, key) })
	}}
}

// large returns the key of an account with 60 jobs of nearly a megabyte, and as
// many small ones. It is filled once.
func (s *strike) large() string {
	s.arena.filled.Do(func() {
		body := fill("b", almost-200)
		key := s.keys[1]
		s.each(s.t.Context(), 4, 60, func(i int) {
			s.create(key, fmt.Sprintf(`"url":"https://127.0.0.1:1443/%d","schedule_in":[52,"weeks"],"method":"post","name":"n%d","body":"%s"`, i, i, body))
			s.create(key, `"url":"https://127.0.0.1:1443/","repeat_every":[52,"weeks"],"schedule_in":[52,"weeks"]`)
		})
	})
	return s.keys[1]
}

var readAttacks = []attack{
	reads("lists of jobs of a megabyte, 8 at once", 8, "/api/jobs?limit=100"),
	reads("lists sorted by state behind an offset", 8, "/api/jobs?order_by=state,desc&limit=100&offset=50"),
	reads("lists behind a huge offset", 16, "/api/jobs?limit=100&offset=1000000000"),
	reads("lists sorted by an empty field", 8, "/api/jobs?order_by=completed_at,asc&limit=100"),
	reads("lists by key", 16, "/api/jobs?idempotency_key=none"),
	reads("lists of schedules", 8, "/api/schedules?limit=100&order_by=name,desc"),
	reads("searches that find nothing", 8, "/api/jobs?q=nothing-has-this-name"),
	reads("searches that find everything", 8, "/api/jobs?q=127.0.0.1&limit=100"),
	reads("counts", 16, "/api/jobs/counts"),
	reads("statistics of a day", 16, "/api/stats?minutes=1440"),
	reads("lists of logs", 16, "/api/logs?limit=100&order_by=event,desc"),
	reads("exports, 20 at once", 20, "/api/logs/export"),
	reads("the account and its keys", 16, "/api/account"),
	lingers("exports read slowly", 100, "/api/logs/export"),
	lingers("lists of a megabyte a job read slowly", 40, "/api/jobs?limit=100"),
	lingers("events, 200 streams", 200, "/api/events"),
	{"events of 8 accounts", func(ctx context.Context, s *strike) {
		s.flood(ctx, 160, func(n int) { s.linger(ctx, "/api/events", s.keys[n%len(s.keys)]) })
	}},
	{"lists of 8 accounts at once", func(ctx context.Context, s *strike) {
		s.flood(ctx, 32, func(n int) {
			s.call(http.MethodGet, "/api/jobs?order_by=state,desc&limit=100&offset=1000", s.keys[n%len(s.keys)], nil)
		})
	}},
	{"exports by strangers", func(ctx context.Context, s *strike) {
		s.flood(ctx, 20, func(int) { s.call(http.MethodGet, "/public/logs/export", "", nil) })
	}},
}
