package hostile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// batch sends a batch of equal jobs and returns its status.
func (s *strike) batch(key string, n int, item func(i int) string) int {
	var b strings.Builder
	for i := range n {
		b.WriteString(item(i) + "\n")
	}
	status, _ := s.call(http.MethodPost, "/api/jobs/batch", key, []byte(b.String()), "Content-Type", "application/x-ndjson", "Prefer",
		"return=minimal")
	return status
}

// limits defines n limits of the strike's own account, named k0, k1 and so on.
func (s *strike) limits(ctx context.Context, n int, definition string) string {
	key := s.own()
	s.each(ctx, 8, n, func(i int) { s.call(http.MethodPut, fmt.Sprintf("/api/limits/k%d", i), key, []byte(definition)) })
	return key
}

const put = http.MethodPut

var controlAttacks = []attack{
	{"batches of 1,000 jobs", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 4, func(int) { s.batch(key, 1000, func(int) string { return `{` + later + `}` }) })
	}},
	{"batches of 1,000 replacements of one job", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 4, func(n int) {
			s.batch(key, 1000, func(i int) string {
				return fmt.Sprintf(`{%s,"idempotency_key":"one","on_conflict":"replace","body":"%d-%d"}`, later, n, i)
			})
		})
	}},
	{"batches of 8 MB", func(ctx context.Context, s *strike) {
		key, body := s.own(), fill("b", 900*kib)
		s.flood(ctx, 3, func(int) { s.batch(key, 8, func(int) string { return `{` + later + `,"body":"` + body + `"}` }) })
	}},
	{"batches of 7 million blank lines", func(ctx context.Context, s *strike) {
		blank := []byte(fill("\n", 7*mib) + `{` + later + `}`)
		s.flood(ctx, 4, func(int) {
			s.call(http.MethodPost, "/api/jobs/batch", s.key(), blank, "Content-Type", "application/x-ndjson")
		})
	}},
	{"batches of crons that hardly ever fire", func(ctx context.Context, s *strike) {
		var years []string
		for year := range 300 {
			years = append(years, fmt.Sprintf(`"%d-01-01/%d-12-31"`, 2030+year, 2030+year))
		}
		item := `{"url":"https://127.0.0.1:1443/","cron":"59 23 29 2 MON#5","timezone":"Europe/Berlin","except":[` +
			strings.Join(years, ",") + `]}`
		key := s.own()
		s.flood(ctx, 4, func(int) { s.batch(key, 900, func(int) string { return item }) })
	}},
	{"edits of a megabyte", func(ctx context.Context, s *strike) {
		key := s.own()
		id := s.create(key, later)
		s.flood(ctx, 8, func(n int) {
			s.call(http.MethodPatch, "/api/jobs/"+id, key, []byte(fmt.Sprintf(`{"body":"%d%s"}`, n, fill("b", 900*kib))))
		})
	}},
	{"a debounced key called without end", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 16, func(n int) {
			s.create(key, fmt.Sprintf(`"url":"https://127.0.0.1:1443/","schedule_in":0.2,"retries":0,"idempotency_key":"one","on_conflict":"debounce","max_wait":1,"body":%d`, n))
		})
	}},
	{"1,000 limits that are all in use", func(ctx context.Context, s *strike) {
		key, target := s.limits(ctx, 900, `{"rate":{"calls":1,"per":1},"parallel":1}`),
			s.serve(ctx, func(http.ResponseWriter, *http.Request) {})
		for n := range 4 {
			s.batch(key, 1000, func(i int) string {
				i += n
				return fmt.Sprintf(`{"url":"%s/","retries":0,"limits":["k%d","k%d","k%d"]}`, target, i*7%900, i*11%900, i*13%900)
			})
		}
		stay(ctx)
	}},
	{"jobs between two limits that are always full", func(ctx context.Context, s *strike) {
		key := s.limits(ctx, 2, `{"parallel":1}`)
		target := s.serve(ctx, func(_ http.ResponseWriter, r *http.Request) { pause(r.Context(), 20*time.Millisecond) })
		for range 4 {
			s.batch(key, 1000, func(int) string { return `{"url":"` + target + `/","retries":0,"limits":["k0","k1"]}` })
		}
		s.batch(key, 1000, func(i int) string {
			return fmt.Sprintf(`{"url":"%s/","retries":0,"limits":["k%d"]}`, target, i%2)
		})
		stay(ctx)
	}},
	{"a limit that is paused and resumed with 5,000 jobs behind it", func(ctx context.Context, s *strike) {
		key, target := s.limits(ctx, 1, `{"paused":true}`), s.serve(ctx, func(http.ResponseWriter, *http.Request) {})
		for range 5 {
			s.batch(key, 1000, func(int) string { return `{"url":"` + target + `/","retries":0,"limits":["k0"]}` })
		}
		s.flood(ctx, 4, func(n int) {
			s.call(put, "/api/limits/k0", key, []byte(fmt.Sprintf(`{"parallel":50,"paused":%t}`, n%2 == 0)))
		})
	}},
	{"operations on 5,000 jobs again and again", func(ctx context.Context, s *strike) {
		key := s.own()
		for range 5 {
			s.batch(key, 1000, func(int) string { return `{` + later + `}` })
		}
		s.flood(ctx, 8, func(n int) {
			_, text := s.call(http.MethodPost, "/api/operations", key,
				[]byte(`{"action":"reschedule","filter":{},"all":true,"set":{"spread":86400}}`))
			if id := between(text, `"id": "`, `"`) + between(text, `"id":"`, `"`); id != "" && n%3 == 0 {
				s.call(http.MethodDelete, "/api/operations/"+id, key, nil)
			}
		})
	}},
	{"operations of 8 accounts that make all jobs now", func(ctx context.Context, s *strike) {
		target := s.serve(ctx, func(http.ResponseWriter, *http.Request) {})
		s.each(ctx, 8, 8, func(i int) {
			s.batch(s.keys[i], 500, func(int) string {
				return `{"url":"` + target + `/","schedule_in":3600,"retries":0,"name":"now"}`
			})
			s.call(http.MethodPost, "/api/operations", s.keys[i], []byte(`{"action":"run","filter":{"name":"now","state":"scheduled"}}`))
		})
		stay(ctx)
	}},
	{"dry runs that look into every log", func(ctx context.Context, s *strike) {
		key := s.own()
		for range 3 {
			s.batch(key, 1000, func(int) string { return `{` + later + `}` })
		}
		s.flood(ctx, 16, func(int) {
			s.call(http.MethodPost, "/api/operations", key, []byte(`{"action":"cancel","filter":{"error_kind":"dns"},"dry_run":true}`))
		})
	}},
	{"guesses of completion addresses", func(ctx context.Context, s *strike) {
		s.flood(ctx, 16, func(n int) {
			s.call(http.MethodPost, fmt.Sprintf("/api/completions/%043d", n), "", []byte(`{"result":"`+fill("r", 200*kib)+`"}`))
		})
	}},
	{"alerts about 1,000 failures to 500 receivers", func(ctx context.Context, s *strike) {
		key := s.own()
		target := s.serve(ctx, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
		to := strings.TrimSuffix(strings.Repeat(`{"webhook":"`+target+`/alert"},`, 5), ",")
		s.each(ctx, 8, 100, func(i int) {
			s.call(put, fmt.Sprintf("/api/alerts/a%d", i), key, []byte(`{"on":["failed","recovered","late","skipped"],"to":[`+to+`]}`))
		})
		s.batch(key, 1000, func(int) string { return `{"url":"` + target + `/","retries":0}` })
		stay(ctx)
	}},
	{"documents of 1,000 schedules applied again and again", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 4, func(n int) {
			s.call(http.MethodPost, "/api/apply", key, []byte(`{"owner":"a","schedules":[`+members(1000,
				fmt.Sprintf(`{"key":"k%%d","name":"%d","url":"https://127.0.0.1:1443/","repeat_every":3600,"schedule_in":3600}`, n))+`]}`))
		})
	}},
	{"schedules whose answers ask for the next run at once", func(ctx context.Context, s *strike) {
		key := s.own()
		target := s.serve(ctx, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"$next":0}`))
		})
		s.batch(key, 500, func(int) string { return `{"url":"` + target + `/","retries":0,"repeat_every":3600}` })
		stay(ctx)
	}},
	{"grids of 1,000 missed points caught up", func(ctx context.Context, s *strike) {
		key := s.own()
		target := s.serve(ctx, func(http.ResponseWriter, *http.Request) {})
		s.batch(key, 200, func(int) string {
			return `{"url":"` + target + `/","retries":0,"repeat_every":1,"scheduled_at":"2020-01-01T00:00:00Z","catch_up":"all"}`
		})
		stay(ctx)
	}},
}
