package hostile

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// hangs has one job after the other call hanging ports, with further members.
func (s *strike) hangs(ctx context.Context, key string, urls []string, jobs int, more string) {
	s.each(ctx, 32, jobs, func(i int) {
		s.create(key, fmt.Sprintf(`"url":"%s/","timeout":900,"retries":0%s`, urls[i%len(urls)], more))
	})
}

func stay(ctx context.Context) { <-ctx.Done() }

var slotAttacks = []attack{
	{"1,100 hanging ports", func(ctx context.Context, s *strike) {
		key := s.own()
		s.hangs(ctx, key, s.hanging(ctx, 1100), 1100, "")
		stay(ctx)
	}},
	{"one hanging port, 1,500 jobs", func(ctx context.Context, s *strike) {
		key := s.own()
		s.hangs(ctx, key, s.hanging(ctx, 1), 1500, "")
		stay(ctx)
	}},
	{"hanging ports of 8 accounts", func(ctx context.Context, s *strike) {
		urls := s.hanging(ctx, 200)
		s.each(ctx, 32, 1600, func(i int) {
			s.create(s.keys[i%len(s.keys)], fmt.Sprintf(`"url":"%s/","timeout":3,"retries":0`, urls[i%len(urls)]))
		})
		stay(ctx)
	}},
	{"schedules that call hanging ports", func(ctx context.Context, s *strike) {
		key, urls := s.own(), s.hanging(ctx, 300)
		s.each(ctx, 32, 300, func(i int) {
			s.create(key, fmt.Sprintf(`"url":"%s/","timeout":900,"retries":0,"repeat_every":1`, urls[i]))
		})
		stay(ctx)
	}},
	{"callbacks to hanging ports", func(ctx context.Context, s *strike) {
		key, urls := s.own(), s.hanging(ctx, 600)
		target := s.serve(ctx, func(http.ResponseWriter, *http.Request) {})
		s.each(ctx, 32, 600, func(i int) {
			s.create(key, fmt.Sprintf(`"url":"%s/","callback_url":"%s/","retries":0`, target, urls[i]))
		})
		stay(ctx)
	}},
	{"webhooks to hanging ports", func(ctx context.Context, s *strike) {
		key, urls := s.own(), s.hanging(ctx, 300)
		target := s.serve(ctx, func(http.ResponseWriter, *http.Request) {})
		s.each(ctx, 32, 300, func(i int) {
			s.create(key, fmt.Sprintf(`"url":"%s/","webhook_url":"%s/","retries":0`, target, urls[i]))
		})
		stay(ctx)
	}},
	{"webhooks that are refused", func(ctx context.Context, s *strike) {
		key := s.own()
		target := s.serve(ctx, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Webhook-Id") != "" && r.Method == http.MethodPost {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		s.flood(ctx, 16, func(int) {
			s.create(key, fmt.Sprintf(`"url":"%s/","webhook_url":"%s/hook","callback_url":"%s/call","retries":0`, target, target, target))
		})
	}},
	{"answers at the last moment", func(ctx context.Context, s *strike) {
		key := s.own()
		target := s.serve(ctx, func(_ http.ResponseWriter, r *http.Request) { pause(r.Context(), 900*time.Millisecond) })
		s.each(ctx, 32, 1000, func(i int) {
			s.create(key, fmt.Sprintf(`"url":"%s/%d","timeout":1,"retries":0`, target, i))
		})
		stay(ctx)
	}},
	{"hanging jobs that are cancelled", func(ctx context.Context, s *strike) {
		key, urls := s.own(), s.hanging(ctx, 100)
		s.flood(ctx, 16, func(n int) {
			if id := s.create(key, fmt.Sprintf(`"url":"%s/","timeout":900,"retries":0`, urls[n%len(urls)])); id != "" {
				s.call(http.MethodPost, "/api/jobs/"+id+"/cancel", key, nil)
			}
		})
	}},
	{"an account deleted while its jobs hang", func(ctx context.Context, s *strike) {
		key := s.own()
		s.hangs(ctx, key, s.hanging(ctx, 500), 500, "")
		s.leave()
		stay(ctx)
	}},
	{"large bodies to a target that does not read", func(ctx context.Context, s *strike) {
		key, urls := s.own(), s.hanging(ctx, 20)
		s.hangs(ctx, key, urls, 200, `,"method":"post","body":"`+fill("b", 900*kib)+`"`)
		stay(ctx)
	}},
	{"large bodies to a target that stops reading", func(ctx context.Context, s *strike) {
		key := s.own()
		target := s.serve(ctx, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		s.hangs(ctx, key, []string{target}, 200, `,"method":"post","body":"`+fill("b", 900*kib)+`"`)
		stay(ctx)
	}},
	{"redirects from host to host", func(ctx context.Context, s *strike) {
		key, urls := s.own(), s.hanging(ctx, 200)
		var n atomic.Int64
		target := s.serve(ctx, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, urls[n.Add(1)%int64(len(urls))], http.StatusTemporaryRedirect)
		})
		s.hangs(ctx, key, []string{target}, 400, "")
		stay(ctx)
	}},
}
