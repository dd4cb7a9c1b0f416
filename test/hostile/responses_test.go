package hostile

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// body answers with a media type and a text.
func body(mediaType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, text)
	}
}

const kept = 256 * kib // of a response

// steers returns an attack by a target that answers a schedule's runs, which
// come every second, each with more in $state.
func steers(name, members string, handler http.HandlerFunc) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		url, key := s.serve(ctx, handler), s.own()
		s.each(ctx, 16, 60, func(i int) {
			s.create(key, fmt.Sprintf(`"url":"%s/%d","method":"post","repeat_every":1,"retries":0,%s`, url, i, members))
		})
		stay(ctx)
	}}
}

var responseAttacks = []attack{
	responds("control characters", body("text/plain", fill("\x01", kept))),
	responds("control characters as JSON text", body("application/json", `"`+fill(`\u0001`, kept-2)+`"`)),
	responds("bytes that are no UTF-8", body("text/plain", fill("\xff\xfe", kept))),
	responds("markup", body("text/html", fill("<&>\"'", kept))),
	responds("ten megabytes", body("text/plain", fill("a", 10*mib))),
	responds("JSON 100,000 deep", body("application/json", nested("[", "", "]", 100_000))),
	responds("JSON of 50,000 members", body("application/json", `{`+members(20_000, `"m%d":1`)+`}`)),
	responds("JSON of huge exponents", body("application/json", list("1e999999999", 20_000))),
	responds("200 headers of 4 KB", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 200 {
			w.Header().Set("X-"+strconv.Itoa(i), fill("v", 4*kib))
		}
	}),
	responds("an endless body", func(w http.ResponseWriter, r *http.Request) {
		piece := []byte(fill("a", 64*kib))
		for r.Context().Err() == nil {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}),
	responds("a body that drips", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "a"); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			pause(r.Context(), 20*time.Millisecond)
		}
	}),
	responds("a compressed body that grows", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(gzipBomb)
	}),
	responds("redirects to itself", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	}),
	responds("a location of 200 KB", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://127.0.0.1:1443/"+fill("l", 200*kib))
		w.WriteHeader(http.StatusFound)
	}),
	responds("a location to the file system", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	}),
	responds("a location without TLS", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://127.0.0.1/")
		w.WriteHeader(http.StatusFound)
	}),
	respondsTo("a retry at once", `"retries":20`, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
	}),
	respondsTo("a retry beyond all numbers", `"retries":20`, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", fill("9", 10*kib))
		w.WriteHeader(http.StatusTooManyRequests)
	}),
	respondsTo("a retry in the past", `"retries":20`, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "Thu, 01 Jan 1970 00:00:00 GMT")
		w.WriteHeader(http.StatusTooManyRequests)
	}),
	{"300 large responses, callbacks and webhooks to dead receivers", func(ctx context.Context, s *strike) {
		url, key := s.serve(ctx, body("text/plain", fill("\x01", kept))), s.own()
		s.each(ctx, 16, 300, func(i int) {
			s.create(key, fmt.Sprintf(`"url":"%s/%d","retries":0,"callback_url":"https://127.0.0.1:1/","webhook_url":"https://127.0.0.1:1/"`, url, i))
		})
		stay(ctx)
	}},
	{"300 large bodies, callbacks and webhooks to dead receivers", func(ctx context.Context, s *strike) {
		url, key := s.serve(ctx, body("text/plain", "ok")), s.own()
		large := fill("b", 900*kib)
		s.each(ctx, 16, 300, func(i int) {
			s.create(key, fmt.Sprintf(`"url":"%s/%d","method":"post","body":"%s","retries":0,"callback_url":"https://127.0.0.1:1/","webhook_url":"https://127.0.0.1:1/"`, url, i, large))
		})
		stay(ctx)
	}},
	{"urls that render large", func(ctx context.Context, s *strike) {
		key := s.own()
		for range 20 {
			s.create(key, `"url":"https://127.0.0.1:1/","retries":0,"query":{"`+fill("k", 150*kib)+`":`+list("1", 60_000)+`}`)
		}
		stay(ctx)
	}},
	{"forms that render large", func(ctx context.Context, s *strike) {
		key := s.own()
		for range 20 {
			s.create(key, `"url":"https://127.0.0.1:1/","method":"post","retries":0,"headers":{"content-type":"`+form+`"},"body":{"`+
				fill("k", 150*kib)+`":`+list("1", 60_000)+`}`)
		}
		stay(ctx)
	}},
	{"bodies that render large, on a public schedule", func(ctx context.Context, s *strike) {
		url := s.serve(ctx, body("application/json", `{"p":"`+fill("p", 250*kib)+`"}`))
		s.create(publicKey, fmt.Sprintf(`"url":"%s/","method":"post","repeat_every":1,"retries":0,"body":%s`, url,
			list(`"$previous"`, 10_000)))
		stay(ctx)
	}},
	steers("$set of 25,000 members", `"body":{}`, body("application/json", `{"$set":{`+members(20_000, `"m%d":1`)+`}}`)),
	steers("$set that grows to its limit", `"body":{}`, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"$set":{"t%d":"%s"}}`, time.Now().UnixNano(), fill("s", 15*kib))
	}),
	steers("$set of deep nesting", `"body":{}`, body("application/json", `{"$set":{"a":`+nested("[", "", "]", 20_000)+`}}`)),
	steers("state many times in a body", `"body":`+list(`"$state"`, 1000),
		body("application/json", `{"$set":{"s":"`+fill("s", 60*kib)+`"}}`)),
	steers("previous many times in a body", `"body":`+list(`"$previous"`, 1000),
		body("application/json", `{"p":"`+fill("p", 250*kib)+`"}`)),
	steers("previous many times in a query", `"query":{`+members(1000, `"q%d":"$previous"`)+`}`,
		body("application/json", list("1", 100_000))),
	steers("previous in a form", `"headers":{"content-type":"`+form+`"},"body":{"`+fill("k", 64*kib)+`":"$previous"}`,
		body("application/json", list("1", 100_000))),
	steers("previous of deep nesting", `"body":"$previous"`, body("application/json", nested(`{"a":`, "1", "}", 40_000))),
	steers("previous as a path of many steps", `"body":{"a":"$previous`+fill(".a", 100*kib)+`"}`,
		body("application/json", nested(`{"a":`, "1", "}", 40_000))),
}

var gzipBomb = gzipped(strings.Repeat("\x00", 50*mib))
