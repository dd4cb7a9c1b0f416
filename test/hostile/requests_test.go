package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"strings"
)

// sends returns an attack that sends one body to a path, from four clients at
// once, as fast as it is answered.
func sends(name, path, body string, headers ...string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		payload := []byte(body)
		s.flood(ctx, 4, func(int) { s.call(http.MethodPost, path, s.key(), payload, headers...) })
	}}
}

// creates returns an attack that sends a body to the call that creates jobs.
func creates(name, body string, headers ...string) attack {
	return sends(name, "/api/jobs", body, headers...)
}

// asks returns an attack that reads a path with headers.
func asks(name, path string, headers ...string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		s.flood(ctx, 4, func(int) { s.call(http.MethodGet, path, s.key(), nil, headers...) })
	}}
}

const form = "application/x-www-form-urlencoded"

var requestAttacks = []attack{
	creates("body of arrays 9,000 deep", job(`"body":`+nested("[", "", "]", 9000))),
	creates("body of arrays 400,000 deep", job(`"body":`+nested("[", "", "]", 400_000))),
	creates("body of objects 9,000 deep", job(`"body":`+nested(`{"a":`, "1", "}", 9000))),
	creates("body of objects 150,000 deep", job(`"body":`+nested(`{"a":`, "1", "}", 150_000))),
	creates("body of mixed nesting 90 KB a level", job(`"body":`+nested(`{"`+fill("k", 90*kib)+`":[`, "1", "]}", 10))),
	creates("query 9,000 deep", job(`"query":`+nested(`{"a":`, "1", "}", 9000))),
	creates("query 65 deep", job(`"query":`+nested(`{"a":`, "1", "}", 65))),
	creates("query with a long name and a long array", job(`"query":{"`+fill("k", 150*kib)+`":`+list("1", 70_000)+`}`)),
	creates("query of 200,000 members", job(`"query":{`+members(60_000, `"m%d":1`)+`}`)),
	creates("query as a text of a megabyte", job(`"query":"`+fill("a=b&", almost)+`"`)),
	creates("form body with a long name and a long array",
		job(`"method":"post","headers":{"content-type":"`+form+`"},"body":{"`+fill("k", 150*kib)+`":`+list("1", 70_000)+`}`)),
	creates("form body with long nested names", job(`"method":"post","headers":{"content-type":"`+form+`"},"body":`+
		nested(`{"`+fill("k", 8*kib)+`":`, `{`+members(1000, `"m%d":1`)+`}`, "}", 60))),
	creates("80,000 times $previous", job(`"body":`+list(`"$previous"`, 80_000))),
	creates("80,000 times $state in objects", job(`"body":{`+members(40_000, `"m%d":"$state"`)+`}`)),
	creates("80,000 paths into $job", job(`"body":`+list(`"$job.id"`, 80_000))),
	creates("a path of 300,000 steps", job(`"body":"$previous`+fill(".a", almost)+`"`)),
	creates("100,000 unknown fields", job(members(80_000, `"unknwn%d":1`))),
	creates("40,000 fields close to known ones", job(members(40_000, `"schedul_in%d":1`))),
	creates("an unknown field of a megabyte", job(`"`+fill("x", almost)+`":1`)),
	creates("80,000 members of one name", job(`"body":{`+strings.TrimSuffix(strings.Repeat(`"a":1,`, 80_000), ",")+`}`)),
	creates("the same field 60,000 times", job(strings.TrimSuffix(strings.Repeat(`"name":"a",`, 60_000), ","))),
	creates("50,000 headers", job(`"headers":{`+members(50_000, `"x-h%d":"1"`)+`}`)),
	creates("50,000 bad headers", job(`"headers":{`+members(50_000, `"bad header %d":"1"`)+`}`)),
	creates("a header of a megabyte", job(`"headers":{"x":"`+fill("v", almost)+`"}`)),
	creates("a header with 200,000 values", job(`"headers":{"x":`+list("1", 200_000)+`}`)),
	creates("a megabyte of opening brackets", strings.Repeat("[", almost)),
	creates("a megabyte of opening objects", strings.Repeat(`{"a":`, almost/5)),
	creates("a number of a megabyte", job(`"body":`+fill("1", almost))),
	creates("huge exponents", job(`"body":`+list("1e999999999", 50_000))),
	creates("a delay with a huge exponent", `{"url":"https://127.0.0.1:1443/","schedule_in":1e999999999}`),
	creates("a delay of a megabyte of digits", `{"url":"https://127.0.0.1:1443/","schedule_in":`+fill("9", almost)+`}`),
	creates("a delay as an array of 200,000", `{"url":"https://127.0.0.1:1443/","schedule_in":`+list("1", 200_000)+`}`),
	creates("retries with a huge exponent", job(`"retries":1e99999999`)),
	creates("a megabyte of escapes", job(`"body":"`+fill(`\u0000`, almost)+`"`)),
	creates("a megabyte of lone surrogates", job(`"body":"`+fill(`\ud800`, almost)+`"`)),
	creates("a megabyte that is no UTF-8", job(`"body":"`+fill("\xff", almost)+`"`)),
	creates("a name of a megabyte", job(`"name":"`+fill("n", almost)+`"`)),
	creates("a description of a megabyte", job(`"description":"`+fill("é", almost)+`"`)),
	creates("a key of a megabyte", job(`"idempotency_key":"`+fill("k", almost)+`"`)),
	creates("a url of a megabyte", `{"url":"https://127.0.0.1:1443/`+fill("u", almost)+`"}`),
	creates("a url with 8 KB of dots", `{"url":"https://`+fill("a.", 8*kib)+`/"}`),
	creates("a cron of a megabyte of lists", job(`"cron":"`+fill("1,", almost)+`1 * * * *"`)),
	creates("a cron with 60,000 fields", job(`"cron":"`+fill("* ", 120*kib)+`"`)),
	creates("a cron that rarely fires", `{"url":"https://127.0.0.1:1443/","cron":"0 0 29 2 1"}`),
	creates("a zone of a megabyte", job(`"cron":"* * * * *","timezone":"`+fill("z", almost)+`"`)),
	creates("a zone that climbs", job(`"cron":"* * * * *","timezone":"../../../../etc/passwd"`)),
	creates("a form of 200,000 pairs", fill("a=b&", almost), "Content-Type", form),
	creates("a form nested 100,000 deep", "a"+fill("[a]", 900*kib)+"=1", "Content-Type", form),
	creates("a form with arrays of 200,000", fill("a[]=1&", almost), "Content-Type", form),
	creates("a form with growing indexes", "body"+fill("[9][8]", 600*kib)+"=1", "Content-Type", form),
	creates("a form of bad escapes", fill("%zz=%zz&", almost), "Content-Type", form),
	creates("a media type with 50 KB of parameters", job(`"name":"a"`), "Content-Type", "application/json"+fill(";a=b", 50*kib)),
	creates("a key header of 50 KB", job(`"name":"a"`), "Idempotency-Key", fill("k", 50*kib)),
	creates("an encoding that is not read", string(gzipped(fill("\x00", 20*mib))), "Content-Encoding", "br"),
	creates("a gzip of 20 MiB of spaces", string(gzipped(fill(" ", 20*mib))), "Content-Encoding", "gzip"),
	creates("a megabyte of empty gzip members", fill(string(gzipped("")), almost), "Content-Encoding", "gzip"),
	sends("a batch of gzip that becomes 200 MiB", "/api/jobs/batch", string(gzipped(fill("\n", 200*mib))), "Content-Encoding", "gzip",
		"Content-Type", "application/x-ndjson"),
	{"gzip bombs without a key, 32 at once", func(ctx context.Context, s *strike) {
		body := gzipped(`{"content":"` + fill("c", 20*mib) + `"}`)
		s.flood(ctx, 32, func(int) { s.call(http.MethodPost, "/api/broadcast", "", body, "Content-Encoding", "gzip") })
	}},
	creates("nothing", ""),
	sends("echo of a megabyte", "/api/echo", `"`+fill("e", almost)+`"`),
	sends("echo of deep nesting", "/api/echo", nested("[", "", "]", 400_000)),
	sends("echo of many members", "/api/echo", `{`+members(50_000, `"m%d":1`)+`}`),
	sends("broadcast of a megabyte", "/api/broadcast", `{"content":"`+fill("c", almost)+`"}`),
	sends("preview of a long query", "/api/preview", job(`"query":{"`+fill("k", 150*kib)+`":`+list("1", 70_000)+`}`)),
	sends("preview of deep nesting", "/api/preview", job(`"body":`+nested("[", "", "]", 200_000))),
	sends("preview of a rare cron", "/api/preview", `{"url":"https://127.0.0.1:1443/","cron":"0 0 29 2 1","timezone":"Europe/Berlin"}`),
	sends("cancel of 100,000 ids", "/api/jobs/cancel", `{"job_ids":`+list("1", 100_000)+`}`),
	sends("cancel of ids with huge exponents", "/api/jobs/cancel", `{"job_ids":`+list("1e999999", 100)+`}`),
	asks("a credential of 50 KB", "/api/jobs", "Authorization", "Bearer "+fill("k", 50*kib)),
	asks("cookies of 50 KB", "/jobs", "Cookie", fill("a=b; ", 50*kib)),
	asks("a path of 50 KB", "/api/jobs/"+fill("a", 50*kib)),
	asks("a path of 25,000 parts", "/api"+fill("/a", 50*kib)),
	asks("a path of escapes", "/api/jobs/"+fill("%2e%2e%2f", 50*kib)),
	asks("a query of 10,000 parameters", "/api/jobs?"+fill("a=b&", 50*kib)),
	asks("order_by of 10,000 parts", "/api/jobs?order_by="+fill("a,", 50*kib)),
	asks("a cursor of 50 KB", "/api/jobs?cursor="+fill("A", 50*kib)),
	asks("an offset beyond all numbers", "/api/jobs?offset="+fill("9", 10*kib)),
	asks("a search of 50 KB", "/api/jobs?q="+fill("s", 50*kib)),
	{"broadcast to 100,000 channels", func(ctx context.Context, s *strike) {
		s.flood(ctx, 8, func(n int) {
			s.call(http.MethodPost, "/api/broadcast", "", []byte(`{"content":"`+fill("c", 64*kib)+`","channel":"`+strconv.Itoa(n)+`"}`))
		})
	}},
	{"creates of a megabyte, 32 at once", func(ctx context.Context, s *strike) {
		body := []byte(job(`"body":"` + fill("b", almost) + `"`))
		key := s.own()
		s.flood(ctx, 32, func(int) { s.call(http.MethodPost, "/api/jobs", key, body) })
	}},
	{"broadcasts of a megabyte, 32 at once", func(ctx context.Context, s *strike) {
		body := []byte(`{"content":"` + fill("c", almost) + `"}`)
		s.flood(ctx, 32, func(int) { s.call(http.MethodPost, "/api/broadcast", "", body) })
	}},
	{"methods that nobody knows", func(ctx context.Context, s *strike) {
		methods := []string{"TRACE", "OPTIONS", "HEAD", "PROPFIND", fill("M", 100), "CONNECT"}
		s.flood(ctx, 8, func(n int) { s.call(methods[n%len(methods)], "/api/jobs", s.key(), nil) })
	}},
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}
