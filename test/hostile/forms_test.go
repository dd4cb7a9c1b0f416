package hostile

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// submits returns an attack that submits a form of the public dashboard.
func submits(name, path string, fields func() string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		payload := []byte(fields())
		s.flood(ctx, 4, func(int) {
			s.call(http.MethodPost, path, "", payload, "Content-Type", form, "Origin", s.service.URL(), "Sec-Fetch-Site", "same-origin")
		})
	}}
}

func field(name, value string) string { return url.QueryEscape(name) + "=" + url.QueryEscape(value) }

// newJobForm returns the fields of the form for a new job.
func newJobForm(more string) func() string {
	return func() string {
		return field("url", "https://127.0.0.1:1443/") + "&" + field("when", "in 52 weeks") + "&" + more
	}
}

var formAttacks = []attack{
	submits("156 KB of header lines", "/public/jobs/preview", newJobForm(field("headers", fill("a: b\n", 156*kib)))),
	submits("900 KB of header lines", "/public/jobs/preview", newJobForm(field("headers", fill("a: b\n", 300*kib)))),
	submits("header lines without a colon", "/public/jobs/preview", newJobForm(field("headers", fill("a\n", 200*kib)))),
	submits("header lines on create", "/public/jobs", newJobForm(field("headers", fill("x: y\n", 156*kib)))),
	submits("a body of deep nesting", "/public/jobs/preview", newJobForm(field("body", nested("[", "", "]", 100_000)))),
	submits("a query of deep nesting", "/public/jobs/preview", newJobForm(field("query", nested(`{"a":`, "1", "}", 9000)))),
	submits("a time of 200 KB", "/public/jobs/preview", func() string { return field("when", fill("every ", 200*kib)) }),
	submits("a time of digits", "/public/jobs/preview", func() string { return field("when", "in "+fill("9", 200*kib)+" seconds") }),
	submits("a time of many weekdays", "/public/jobs/preview",
		func() string { return field("when", "every "+fill("monday, ", 200*kib)+"monday at 9") }),
	submits("the same field 100,000 times", "/public/jobs/preview", func() string { return fill("when=now&", 900*kib) }),
	submits("100,000 fields", "/public/jobs/preview", func() string { return fill("a=&", 900*kib) }),
	submits("JSON of deep nesting", "/public/jobs", func() string { return field("json", nested("[", "", "]", 200_000)) }),
	submits("cancel of 100,000 ids", "/public/jobs/cancel", func() string { return fill("job_id=1&", 900*kib) }),
	{"a search that scans", func(ctx context.Context, s *strike) {
		s.flood(ctx, 8, func(n int) { s.call(http.MethodGet, "/public/jobs?q=nothing"+strconv.Itoa(n), "", nil) })
	}},
	{"pages of the public dashboard", func(ctx context.Context, s *strike) {
		pages := []string{"/public", "/public/jobs", "/public/schedules", "/public/logs", "/public/jobs/new"}
		s.flood(ctx, 16, func(n int) { s.call(http.MethodGet, pages[n%len(pages)], "", nil) })
	}},
	{"the public page of a job that renders large", func(ctx context.Context, s *strike) {
		id := s.create(publicKey, `"url":"https://127.0.0.1:1443/","schedule_in":3600,"query":{"`+fill("k", 60*kib)+`":`+list("1", 60_000)+
			`}`)
		if id == "" { // refused, as it should be
			id = s.create(publicKey, `"url":"https://127.0.0.1:1443/","schedule_in":3600,"query":{"`+fill("k", 4*kib)+`":`+
				list(`"$previous"`, 3)+`}`)
		}
		s.flood(ctx, 8, func(int) { s.call(http.MethodGet, "/public/jobs/"+id, "", nil) })
	}},
	{"the public page of a job of a megabyte", func(ctx context.Context, s *strike) {
		id := s.create(publicKey, `"url":"https://127.0.0.1:1443/","schedule_in":3600,"method":"post","body":"`+fill("<b>", almost)+`"`)
		s.flood(ctx, 8, func(int) { s.call(http.MethodGet, "/public/jobs/"+id, "", nil) })
	}},
	{"the public page of a job of many lines", func(ctx context.Context, s *strike) {
		id := s.create(publicKey, `"url":"https://127.0.0.1:1443/","schedule_in":3600,"method":"post","body":`+list("1", 400_000))
		s.flood(ctx, 8, func(int) { s.call(http.MethodGet, "/public/jobs/"+id, "", nil) })
	}},
	{"live events of the public dashboard", func(ctx context.Context, s *strike) {
		s.flood(ctx, 200, func(int) { s.linger(ctx, "/public/events", "") })
	}},
}
