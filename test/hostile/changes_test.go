package hostile

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
)

// storms returns an attack that makes a call on one job of its own again and
// again. PATH has the job's id for %s.
func storms(name, method, path, members, body string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		key := s.own()
		id := s.create(key, members)
		s.flood(ctx, 16, func(int) { s.call(method, fmt.Sprintf(path, id), key, []byte(body)) })
	}}
}

// stormsSchedule is storms for a schedule.
func stormsSchedule(name, method, path, body string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		key := s.own()
		status, text := s.call(http.MethodPost, "/api/jobs", key,
			[]byte(`{"url":"https://127.0.0.1:1443/","repeat_every":3600,"schedule_in":3600}`))
		if status != http.StatusCreated {
			return
		}
		id := between(text, `"schedule_id":"`, `"`)
		s.flood(ctx, 16, func(int) { s.call(method, fmt.Sprintf(path, id), key, []byte(body)) })
	}}
}

const later = `"url":"https://127.0.0.1:1443/","schedule_in":3600,"retries":0`

var changeAttacks = []attack{
	storms("cancel again and again", http.MethodPost, "/api/jobs/%s/cancel", later, ""),
	storms("run now again and again", http.MethodPost, "/api/jobs/%s/run", later, ""),
	storms("rerun again and again", http.MethodPost, "/api/jobs/%s/rerun", later, ""),
	stormsSchedule("disable again and again", http.MethodPost, "/api/schedules/%s/disable", ""),
	stormsSchedule("enable again and again", http.MethodPost, "/api/schedules/%s/enable", ""),
	stormsSchedule("state of 64 KB", http.MethodPut, "/api/schedules/%s/state", `{`+members(4000, `"m%d":"abc"`)+`}`),
	stormsSchedule("state of 60,000 members", http.MethodPut, "/api/schedules/%s/state", `{`+members(60_000, `"m%d":1`)+`}`),
	stormsSchedule("state of deep nesting", http.MethodPut, "/api/schedules/%s/state", `{"a":`+nested("[", "", "]", 300_000)+`}`),
	{"one key in many creates", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 32, func(int) { s.create(key, later+`,"idempotency_key":"one"`) })
	}},
	{"creates as fast as possible", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 32, func(int) { s.create(key, later) })
	}},
	{"creates due at one moment", func(ctx context.Context, s *strike) {
		key := s.own()
		s.each(ctx, 32, 2000, func(int) { s.create(key, `"url":"https://127.0.0.1:1/","schedule_in":1,"retries":0`) })
	}},
	{"creates due at once that fail", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 16, func(int) { s.create(key, `"url":"https://127.0.0.1:1/","retries":20`) })
	}},
	{"schedules every second", func(ctx context.Context, s *strike) {
		key := s.own()
		s.each(ctx, 16, 300, func(int) { s.create(key, `"url":"https://127.0.0.1:1/","repeat_every":1,"retries":0`) })
	}},
	{"names that nobody has", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 16, func(n int) {
			s.create(key, fmt.Sprintf(`"url":"https://host-%d.invalid/","retries":0`, n))
		})
	}},
	{"ports of other services", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 16, func(n int) {
			s.create(key, fmt.Sprintf(`"url":"https://127.0.0.1:%d/","retries":0`, 1+n%65535))
		})
	}},
	{"jobs that call the service itself", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 8, func(int) {
			s.create(key, fmt.Sprintf(`"url":"https://%s/api/jobs","method":"post","retries":0,"headers":{"authorization":"Bearer %s"},"body":{"url":"https://127.0.0.1:1/"}`, s.host(), key))
		})
	}},
	{"creates and cancels", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 16, func(int) {
			if id := s.create(key, later); id != "" {
				s.call(http.MethodPost, "/api/jobs/"+id+"/cancel", key, nil)
			}
		})
	}},
	{"schedules made and deleted", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 16, func(int) {
			_, text := s.call(http.MethodPost, "/api/jobs", key,
				[]byte(`{"url":"https://127.0.0.1:1443/","repeat_every":3600,"schedule_in":3600}`))
			s.call(http.MethodDelete, "/api/schedules/"+between(text, `"schedule_id":"`, `"`), key, nil)
		})
	}},
	{"keys made and revoked", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 8, func(n int) {
			_, text := s.call(http.MethodPost, "/api/account/keys", key, []byte(fmt.Sprintf(`{"name":"k%d"}`, n)))
			s.call(http.MethodDelete, "/api/account/keys/"+between(text, `"id":"`, `"`), key, nil)
		})
	}},
	{"signing secrets rotated", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 8, func(int) { s.call(http.MethodPost, "/api/account/signing-secrets/rotate", key, nil) })
	}},
	{"records that are not the caller's", func(ctx context.Context, s *strike) {
		var n atomic.Int64
		s.flood(ctx, 16, func(int) {
			s.call(http.MethodPost, fmt.Sprintf("/api/jobs/%d/cancel", n.Add(1)), s.key(), nil)
		})
	}},
}
