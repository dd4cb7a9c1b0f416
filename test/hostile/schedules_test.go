package hostile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// refuses is a target that takes jobs and refuses messages.
func refuses(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/message") {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

var scheduleAttacks = []attack{
	{"schedules of 900 KB every second", func(ctx context.Context, s *strike) {
		key, target := s.own(), s.serve(ctx, refuses)
		s.each(ctx, 8, 20, func(int) {
			s.create(key, fmt.Sprintf(`"url":"%s/","method":"post","repeat_every":1,"body":"%s"`, target, fill("b", 900*kib)))
		})
		stay(ctx)
	}},
	{"schedules of 900 KB every second with messages", func(ctx context.Context, s *strike) {
		key, target := s.own(), s.serve(ctx, refuses)
		s.each(ctx, 8, 20, func(int) {
			s.create(key, fmt.Sprintf(`"url":"%s/","method":"post","repeat_every":1,"webhook_url":"%s/message","callback_url":"%s/message","body":"%s"`,
				target, target, target, fill("b", 900*kib)))
		})
		stay(ctx)
	}},
	{"schedules that fail with 900 KB", func(ctx context.Context, s *strike) {
		key, target := s.own(), s.serve(ctx, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(fill("r", 256*kib)))
		})
		s.each(ctx, 8, 40, func(int) {
			s.create(key, fmt.Sprintf(`"url":"%s/","method":"post","repeat_every":1,"webhook_url":"%s/message","body":"%s"`, target, target,
				fill("b", 900*kib)))
		})
		stay(ctx)
	}},
}
