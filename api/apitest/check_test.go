package apitest_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/api/apitest"
)

const record = `{"id":"41d7f28b-dfbe-44b8-b716-b91898bb0ce0","idempotency_key":null,"inserted_at":"2023-09-01T18:25:49",` +
	`"name":null,"description":null,"user_id":"bd2aa099-6eb7-4dbb-9178-32141def1355","schedule_id":null,"job_id":29180,` +
	`"job":{"attempted_at":null,"cancelled_at":null,"completed_at":null,"discarded_at":null,"has_confict":false,"id":29180,` +
	`"inserted_at":"2023-09-01T18:25:49.705161Z","scheduled_at":"2023-09-01T18:26:19.707539Z","state":"available"},` +
	`"args":{"body":{"author":"alex","content":"Hello world!"},"headers":{},"method":"post","schedule_in":[30,"seconds"],"url":"https://example.com/hook"}}`

const (
	jobAnswer = `{"data":` + record + `}`
	schedule  = `{"data":{"id":"41d7f28b-dfbe-44b8-b716-b91898bb0ce0","name":null,"description":null,"inserted_at":"2023-09-01T18:25:49","disabled_at":null,` +
		`"user_id":"bd2aa099-6eb7-4dbb-9178-32141def1355","frequency":{"repeat_every":[2,"hours"]},"args":{"url":"https://example.com","repeat_every":[2,"hours"],"method":"get","headers":{}}}}`
	uuid     = "41d7f28b-dfbe-44b8-b716-b91898bb0ce0"
	notFound = `{"type":"about:blank","code":"x","title":"Not Found","status":404,"detail":"there is no such job"}`
	refusal  = `{"type":"about:blank","code":"x","title":"Unprocessable Content","status":422,"detail":"url must use https","errors":[{"detail":"must use https","pointer":"#/url"}]}`
)

func logAnswer(event, payload string) string {
	return `{"data":{"event":"` + event + `","id":"` + uuid + `","inserted_at":"2023-09-01T18:25:49.705161Z","job_id":1,"payload":` +
		payload + `,"user_id":"` + uuid + `"}}`
}

// exchange is one request and its response; the zero content type is JSON.
type exchange struct {
	call    string
	request string
	status  int
	header  string // "Name: value" lines
	body    string
}

func (x exchange) check(v *apitest.Validator) error {
	method, path, _ := strings.Cut(x.call, " ")
	header := http.Header{"Etag": {`"1"`}}
	switch {
	case x.status >= 400:
		header.Set("Content-Type", "application/problem+json")
	case x.body != "":
		header.Set("Content-Type", "application/json")
	}
	for line := range strings.Lines(x.header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		header.Set(name, value)
	}
	return v.Check(method, path, http.Header{"Content-Type": {"application/json"}}, []byte(x.request), x.status, header, []byte(x.body))
}

func TestCheckAcceptsWhatTheContractSays(t *testing.T) {
	v := apitest.New(t)
	duplicate := strings.Replace(strings.Replace(jobAnswer, `"has_confict":false`, `"has_confict":true`, 1), `"idempotency_key":null`,
		`"idempotency_key":"k"`, 1)
	for name, x := range map[string]exchange{
		"created": {"POST /api/jobs", `{"url":"https://example.com/hook","method":"Post","schedule_in":[30,"SECONDS"],"name":null}`,
			201, "Location: /api/jobs/29180", jobAnswer},
		"duplicate":    {"POST /api/jobs", `{"url":"https://example.com/hook","idempotency_key":"k"}`, 200, "", duplicate},
		"refused":      {"POST /api/jobs", `{"url":"http://example.com"}`, 422, "", refusal},
		"list":         {"GET /api/jobs?limit=1", "", 200, `Link: </api/jobs?limit=1&cursor=x>; rel="next"`, `{"data":[` + record + `]}`},
		"empty list":   {"GET /api/logs?job_id=1", "", 200, "", `{"data":[]}`},
		"by uuid":      {"GET /api/jobs/" + uuid, "", 200, "Content-Type: application/json; charset=utf-8", jobAnswer},
		"malformed id": {"GET /api/jobs/abc", "", 404, "", notFound},
		"head":         {"HEAD /api/jobs/1", "", 200, "Content-Type: application/json", ""},
		"deleted":      {"DELETE /api/schedules/" + uuid, "", 204, "", ""},
		"enabled":      {"POST /api/schedules/" + uuid + "/enable", "", 200, "", schedule},
		"no key": {"GET /api/jobs", "", 401, "WWW-Authenticate: Bearer",
			`{"type":"about:blank","code":"x","title":"Unauthorized","status":401,"detail":"send a key"}`},
		"unknown route": {"GET /api/nope", "", 404, "", notFound},
		"unknown method": {"PUT /api/jobs", "", 405, "Allow: GET, HEAD, POST",
			`{"type":"about:blank","code":"x","title":"Method Not Allowed","status":405,"detail":"use GET or POST"}`},
		"metrics":       {"GET /metrics", "", 200, "Content-Type: text/plain; version=0.0.4; charset=utf-8", "go_goroutines 1\n"},
		"echoed scalar": {"POST /api/echo", `12345678901234567890`, 200, "", `12345678901234567890`},
		"success log": {"GET /api/logs/" + uuid, "", 200, "",
			logAnswer("worker.http.response", `{"status":204,"headers":{},"body":"","duration_ms":1.5,"truncated":false}`)},
		"failure log": {"GET /api/logs/" + uuid, "", 200, "",
			logAnswer("worker.http.response", `{"status":500,"headers":{},"body":"AA==","encoding":"base64","duration_ms":1,"truncated":true,"attempt":1,"retry_at":null}`)},
		"404 succeeds": {"GET /api/logs/" + uuid, "", 200, "",
			logAnswer("worker.http.response", `{"status":404,"headers":{},"body":"","duration_ms":1,"truncated":false}`)},
		"201 fails": {"GET /api/logs/" + uuid, "", 200, "",
			logAnswer("worker.http.response", `{"status":201,"headers":{},"body":"","duration_ms":1,"truncated":false,"attempt":1,"retry_at":null}`)},
		"cancelled log": {"GET /api/logs/" + uuid, "", 200, "",
			logAnswer("worker.http.error", `{"kind":"cancelled","message":"the job was cancelled","duration_ms":1,"attempt":1,"retry_at":null}`)},
	} {
		if err := x.check(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckFindsDrift(t *testing.T) {
	v := apitest.New(t)
	created := exchange{"POST /api/jobs", `{"url":"https://example.com/hook"}`, 201, "Location: /api/jobs/29180", jobAnswer}
	with := func(from, to string) exchange {
		x := created
		if x.body = strings.Replace(jobAnswer, from, to, 1); x.body == jobAnswer {
			t.Fatalf("%s is not in the record", from)
		}
		return x
	}
	asked := func(request string) exchange { x := created; x.request = request; return x }
	logged := func(event, payload string) exchange {
		return exchange{"GET /api/logs/" + uuid, "", 200, "", logAnswer(event, payload)}
	}
	for name, x := range map[string]exchange{
		"undocumented status": {"GET /api/jobs", "", 418, "", notFound},
		"server error":        {"GET /api/jobs", "", 500, "", notFound},
		"missing Location":    {"POST /api/jobs/1/rerun", "", 201, "", jobAnswer},
		"odd Location":        {"POST /api/jobs", "", 201, "Location: /jobs/1", jobAnswer},
		"missing challenge": {"GET /api/jobs", "", 401, "",
			`{"type":"about:blank","code":"x","title":"Unauthorized","status":401,"detail":"send a key"}`},
		"Retry-After in words": {"GET /api/jobs", "", 503, "Retry-After: soon",
			`{"type":"about:blank","code":"x","title":"Service Unavailable","status":503,"detail":"x"}`},
		"wrong content type":        {"GET /api/jobs", "", 200, "Content-Type: text/plain", `{"data":[]}`},
		"wrong charset":             {"GET /api/jobs", "", 200, "Content-Type: application/json; charset=latin1", `{"data":[]}`},
		"plain text for a problem":  {"GET /api/jobs/1", "", 404, "Content-Type: text/plain", "404 page not found"},
		"status unlike the problem": {"GET /api/jobs/1", "", 404, "", refusal},
		"not JSON":                  {"GET /api/jobs", "", 200, "", `{"data":`},
		"null for an empty list":    {"GET /api/jobs", "", 200, "", `{"data":null}`},
		"a body with 204":           {"DELETE /api/schedules/" + uuid, "", 204, "", `{}`},
		"enabled but disabled":      {"POST /api/schedules/" + uuid + "/disable", "", 200, "", schedule},
		"unknown route answers":     {"GET /api/nope", "", 200, "", `{}`},
		"unknown route, no problem": {"GET /api/nope", "", 404, "Content-Type: text/plain", "404 page not found"},
		"unknown method, no Allow": {"PUT /api/jobs", "", 405, "",
			`{"type":"about:blank","code":"x","title":"Method Not Allowed","status":405,"detail":"x"}`},
		"no such path under an id": {"GET /api/jobs/", "", 200, "", jobAnswer},
		"422 without errors": {"POST /api/jobs", "", 422, "",
			`{"type":"about:blank","code":"x","title":"Unprocessable Content","status":422,"detail":"x"}`},
		"422 with two places": {"POST /api/jobs", "", 422, "",
			strings.Replace(refusal, `"pointer":"#/url"`, `"pointer":"#/url","parameter":"url"`, 1)},
		"pointer that is none": {"POST /api/jobs", "", 422, "", strings.Replace(refusal, "#/url", "url", 1)},

		"a key too many":              with(`"job_id"`, `"extra":1,"job_id"`),
		"a key too few":               with(`"description":null,`, ``),
		"the name spelled right":      with("has_confict", "has_conflict"),
		"a conflict on a new job":     with(`"has_confict":false`, `"has_confict":true`),
		"a zone where there is none":  with(`49","name"`, `49Z","name"`),
		"three digits":                with("49.705161Z", "49.705Z"),
		"an offset":                   with("49.705161Z", "49.705161+00:00"),
		"a UUID in upper case":        with("41d7f28b", "41D7F28B"),
		"an id as a string":           with(`"job_id":29180`, `"job_id":"29180"`),
		"a new job under way":         with(`"state":"available"`, `"state":"executing"`),
		"an unknown state":            with(`"state":"available"`, `"state":"pending"`),
		"null in args":                with(`"headers":{},`, `"headers":{},"query":null,`),
		"a record's field in args":    with(`"headers":{},`, `"headers":{},"name":"x",`),
		"an upper-case method":        with(`"method":"post"`, `"method":"POST"`),
		"accepted: unknown field":     asked(`{"url":"https://example.com","schedule_at":1}`),
		"accepted: no url":            asked(`{}`),
		"accepted: ftp":               asked(`{"url":"ftp://example.com"}`),
		"accepted: both times":        asked(`{"url":"https://example.com","schedule_in":1,"scheduled_at":1}`),
		"accepted: cron and repeat":   asked(`{"url":"https://example.com","cron":"@daily","repeat_every":[1,"day"]}`),
		"accepted: zone without cron": asked(`{"url":"https://example.com","timezone":"Europe/Berlin"}`),
		"accepted: a fortnight":       asked(`{"url":"https://example.com","schedule_in":[1,"fortnight"]}`),
		"accepted: host header":       asked(`{"url":"https://example.com","headers":{"Host":"x"}}`),
		"accepted: line break":        asked(`{"url":"https://example.com","headers":{"X-A":"a\nb"}}`),
		"accepted: method":            asked(`{"url":"https://example.com","method":"head"}`),
		"accepted: 21 retries":        asked(`{"url":"https://example.com","retries":21}`),
		"accepted: query of a list":   asked(`{"url":"https://example.com","query":{"a":[{"b":1}]}}`),
		"accepted: broken JSON":       asked(`{`),
		"log of an unknown event":     logged("worker.unknown", `{}`),
		"request log without query":   logged("worker.http.request", `{"body":null,"headers":{},"url":"https://example.com"}`),
		"success log with retry_at": logged("worker.http.response",
			`{"status":200,"headers":{},"body":"","duration_ms":1,"truncated":false,"retry_at":null}`),
		"failure log without retry_at": logged("worker.http.response",
			`{"status":500,"headers":{},"body":"","duration_ms":1,"truncated":false,"attempt":1}`),
		"error log without an attempt": logged("worker.http.error",
			`{"kind":"dns","message":"x","duration_ms":1,"attempt":null,"retry_at":null}`),
		"error log with a status": logged("worker.http.error",
			`{"kind":"status","message":"x","duration_ms":1,"attempt":1,"retry_at":null}`),
		"payload of another event": logged("worker.state.rejected",
			`{"kind":"dns","message":"x","duration_ms":1,"attempt":1,"retry_at":null}`),
		"response headers in arrays": logged("worker.http.response",
			`{"status":200,"headers":{"A":["b"]},"body":"","duration_ms":1,"truncated":false}`),
		"webhook log without its event": logged("worker.webhook.failed",
			`{"url":"https://example.com","attempts":8,"response":null,"error":{"kind":"dns","message":"x"}}`),
	} {
		if err := x.check(v); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
}

func TestCheckNamesThePlace(t *testing.T) {
	x := exchange{"GET /api/jobs/1", "", 200, "", strings.Replace(jobAnswer, "49.705161Z", "49Z", 1)}
	err := x.check(apitest.New(t))
	if err == nil || !strings.Contains(err.Error(), "/data/job/inserted_at") || !strings.Contains(err.Error(), "GET /api/jobs/1 -> 200") {
		t.Errorf("got %v", err)
	}
}

func TestValidatorIsSafeForConcurrentUse(t *testing.T) {
	v := apitest.New(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if err := (exchange{"GET /api/jobs/1", "", 200, "", jobAnswer}).check(v); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestOperations(t *testing.T) {
	ops := map[string]apitest.Operation{}
	for _, op := range apitest.New(t).Operations() {
		ops[op.ID] = op
	}
	if len(ops) < 20 {
		t.Errorf("%d operations, want 20 or more", len(ops))
	}
	if op := ops["getJob"]; op.Method != "GET" || op.Path != "/api/jobs/{job_id}" || op.Open || len(op.Parameters) != 2 ||
		len(op.Parameters[0].Examples) != 2 {
		t.Errorf("getJob is %+v", op)
	}
	if !ops["ping"].Open || !ops["getHealth"].Open || ops["deleteSchedule"].Open {
		t.Error("ping and healthz take no credentials, deleting does")
	}
	for _, r := range ops["createJob"].Requests {
		if r.ContentType == "application/json" && r.Name == "at_a_time" && !strings.Contains(string(r.Value), "129.90") {
			t.Errorf("the digits of a number are lost: %s", r.Value)
		}
		if r.ContentType != "application/x-www-form-urlencoded" {
			continue
		}
		form, err := url.ParseQuery(string(r.Body))
		if err != nil || form.Get("body[content]") != "Hello world!" || strings.Join(form["schedule_in[]"], " ") != "30 seconds" {
			t.Errorf("the form is %s (%v)", r.Body, err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	v := apitest.New(b)
	for b.Loop() {
		if err := (exchange{"GET /api/jobs/1", "", 200, "", jobAnswer}).check(v); err != nil {
			b.Fatal(err)
		}
	}
}
