package e2e

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// sent stores a job for a route of its own and returns the request that
// arrived.
func sent(t *testing.T, c *harness.Client, suffix, members string) harness.Hit {
	t.Helper()
	target := harness.SharedTarget(t).Route(t)
	create(c, with(`{"url":"`+target.URL+suffix+`"}`, members))
	return target.Await(t, 1, soon)[0]
}

// pairs splits a query or form, in order, whatever its escaping.
func pairs(t *testing.T, text string) []string {
	t.Helper()
	var pairs []string
	for pair := range strings.SplitSeq(text, "&") {
		plain, err := url.QueryUnescape(pair)
		if err != nil {
			t.Errorf("%q is not escaped well: %v", pair, err)
		}
		pairs = append(pairs, plain)
	}
	return pairs
}

func TestRequest_QueryIsAppendedInTheOrderGiven(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct{ suffix, query, want string }{
		{"", `{"b":1,"a":"2"}`, "b=1 a=2"},
		{"?z=0", `{"b":1.10,"a":true}`, "z=0 b=1.10 a=true"},
		{"?z=0", `{"a":[1,"x",false]}`, "z=0 a=1 a=x a=false"},
		{"", `{"a":null,"b":[null,1,null],"c":[],"d":""}`, "b=1 d="},
		{"", `{"a":{"b":"c","d":{"e":1}}}`, "a[b]=c a[d][e]=1"},
		{"", `{"a":{"b":[1,2]}}`, "a[b]=1 a[b]=2"},
		{"", `{"a&b":"c=d","ü":"+%"}`, "a&b=c=d ü=+%"},
		{"", `{"a":"$$state.x","n":12345678901234567890}`, "a=$state.x n=12345678901234567890"},
	}
	for _, test := range tests {
		t.Run(test.query, func(t *testing.T) {
			hit := sent(t, a.For(t), test.suffix, `"query":`+test.query)
			if got := strings.Join(pairs(t, hit.RawQuery), " "); got != test.want {
				t.Errorf("sent %q, want %q", got, test.want)
			}
		})
	}
}

func TestRequest_QueryStringIsAppendedUnchanged(t *testing.T) {
	t.Parallel()
	a := account(t)
	for given, want := range map[string]string{
		"":       "b=%2f&&c=a+b&$state.x",
		"?a=%7e": "a=%7e&b=%2f&&c=a+b&$state.x",
	} {
		hit := sent(t, a.For(t), given, `"query":"b=%2f&&c=a+b&$state.x"`)
		if hit.RawQuery != want {
			t.Errorf("sent %q, want %q", hit.RawQuery, want)
		}
	}
}

func TestRequest_HeadersAreSentAsGiven(t *testing.T) {
	t.Parallel()
	a := account(t)
	hit := sent(t, a.Client, "", `"headers":{"X-One":"1","x-number":1.10,"x-switch":true,"x-list":["a",2,false],"x-empty":"",
		"accept":"text/plain","authorization":"Basic eDp5"}`)
	for name, want := range map[string][]string{
		"X-One": {"1"}, "X-Number": {"1.10"}, "X-Switch": {"true"}, "X-List": {"a", "2", "false"}, "X-Empty": {""},
		"Accept": {"text/plain"}, "Authorization": {"Basic eDp5"},
	} {
		if got := hit.Header.Values(name); !slices.Equal(got, want) {
			t.Errorf("%s: sent %q, want %q", name, got, want)
		}
	}
}

func TestRequest_MethodIsSentAsGiven(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, method := range []string{"get", "POST", "Put", "patch", "DELETE"} {
		hit := sent(t, a.Client, "", `"method":"`+method+`"`)
		if hit.Method != strings.ToUpper(method) {
			t.Errorf("asked for %s, sent %s", method, hit.Method)
		}
	}
	if hit := sent(t, a.Client, "", ""); hit.Method != "GET" {
		t.Errorf("by default sent %s", hit.Method)
	}
}

func TestRequest_BodyIsEncodedByItsContentType(t *testing.T) {
	t.Parallel()
	a := account(t)
	const form = "application/x-www-form-urlencoded"
	tests := []struct{ name, mediaType, body, want string }{
		{"an object", "", `{"b":1.10,"a":[null]}`, `{"b":1.10,"a":[null]}`},
		{"a string in quotes", "", `"hi"`, `"hi"`},
		{"a number", "", `12345678901234567890`, `12345678901234567890`},
		{"false", "", `false`, `false`},
		{"an array", "", `[1,"x"]`, `[1,"x"]`},
		{"a string under another JSON type", "application/vnd.api+json", `"hi"`, `"hi"`},
		{"a string's raw bytes", "text/plain; charset=utf-8", `"hi \"there\"\u0000é"`, "hi \"there\"\x00é"},
		{"an object under a type that is not JSON", "application/xml", `{"a":1}`, `{"a":1}`},
		{"a form's raw bytes", form, `"a=1&b=%20&&"`, "a=1&b=%20&&"},
		{"an array under the form's type", form, `[1,2]`, `[1,2]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			members, want := `"method":"post","metadata":false,"body":`+test.body, "application/json"
			if test.mediaType != "" {
				members, want = members+`,"headers":{"Content-Type":"`+test.mediaType+`"}`, test.mediaType
			}
			hit := sent(t, a.For(t), "", members)
			if string(hit.Body) != test.want {
				t.Errorf("sent %q, want %q", hit.Body, test.want)
			}
			if got := hit.Header.Values("Content-Type"); !slices.Equal(got, []string{want}) {
				t.Errorf("sent as %q, want %q", got, want)
			}
		})
	}
}

func TestRequest_ObjectIsFormEncodedUnderTheFormType(t *testing.T) {
	t.Parallel()
	a := account(t)
	hit := sent(t, a.Client, "", `"method":"post","headers":{"content-type":"application/x-www-form-urlencoded"},
		"body":{"b":"x y&z","a":[1,true],"n":{"m":{"o":1.10}},"u":"ü"}`)
	want := []string{"b=x y&z", "a=1", "a=true", "n[m][o]=1.10", "u=ü"}
	if got := pairs(t, string(hit.Body)); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestRequest_WithoutBodySendsNone(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, members := range []string{`"method":"post"`, `"method":"get"`, `"method":"delete","body":null`} {
		hit := sent(t, a.Client, "", members)
		if len(hit.Body) > 0 || hit.Header.Get("Content-Type") != "" {
			t.Errorf("%s: sent %q as %q", members, hit.Body, hit.Header.Get("Content-Type"))
		}
	}
	if hit := sent(t, a.Client, "", `"method":"get","metadata":false,"body":{"a":1}`); string(hit.Body) != `{"a":1}` {
		t.Errorf("a GET with a body sent %q", hit.Body)
	}
}

func TestRequest_MetadataFalseOmitsTheThreeKeys(t *testing.T) {
	t.Parallel()
	a := account(t)
	hit := sent(t, a.Client, "", `"method":"post","body":{"a":1}`)
	wantKeys(t, "the body", hit.JSON(), "a", "$job", "$previous", "$state")
	hit = sent(t, a.Client, "", `"method":"post","body":{"a":1},"metadata":false`)
	wantKeys(t, "the body", hit.JSON(), "a")
}

func TestRequest_LogShowsResolvedFields(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"method":"put","url":"`+target.URL+`?z=0","query":{"id":"$job.id","n":1.0},
		"headers":{"X-Mine":["a",1]},"body":{"me":"$job","plain":"$$job"}}`)
	id := job.Get("job_id").Raw()
	want := `{"body":{"me":{"id":` + id + `},"plain":"$job","$job":{"id":` + id + `},"$previous":{},"$state":{}},` +
		`"headers":{"X-Mine":["a",1]},"query":{"id":` + id + `,"n":1.0},"url":"` + target.URL + `?z=0"}`
	logs := awaitLogs(t, a.Client, job, 2, soon)
	wantSame(t, "payload", logs[0].Get("payload"), want)
	hit := target.Hits()[0]
	wantSame(t, "the body sent", hit.JSON(), logs[0].Get("payload.body").Raw())
	if want := "z=0&id=" + id + "&n=1.0"; hit.RawQuery != want {
		t.Errorf("sent the query %q, want %q", hit.RawQuery, want)
	}
}

func TestRequest_CarriesTheServicesHeaders(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"method":"post","body":1,"url":"`+target.URL+`"}`)
	hit := target.Await(t, 1, soon)[0]
	for name, want := range map[string]string{
		"X-Punctual-Job-Id": job.Get("job_id").Raw(), "X-Punctual-Attempt": "1",
		"X-Punctual-Scheduled-At": job.Get("job.scheduled_at").Str(), "Webhook-Id": "job_" + job.Get("id").Str(),
	} {
		if got := hit.Header.Values(name); !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if agent := hit.Header.Get("User-Agent"); !strings.HasPrefix(agent, "punctual/") || len(agent) == len("punctual/") {
		t.Errorf("User-Agent is %q", agent)
	}
	wantSame(t, "headers in the log", awaitLogs(t, a.Client, job, 1, soon)[0].Get("payload.headers"), `{}`)
}

func TestRequest_OwnHeadersWinExceptSignatures(t *testing.T) {
	t.Parallel()
	a := account(t)
	hit := sent(t, a.Client, "", `"headers":{"user-agent":"mine","content-type":"text/own","webhook-id":"forged","Webhook-Timestamp":"1","webhook-signature":"v1,forged"},"body":"b"`)
	if got := hit.Header.Values("Content-Type"); !slices.Equal(got, []string{"text/own"}) {
		t.Errorf("Content-Type is %q", got)
	}
	if agent := hit.Header.Values("User-Agent"); len(agent) != 1 || !strings.HasPrefix(agent[0], "mine punctual/") {
		t.Errorf("User-Agent is %q, want the job's own and the service's behind it", agent)
	}
	if len(hit.Header.Values("Webhook-Id")) != 1 {
		t.Errorf("two ids: %q", hit.Header.Values("Webhook-Id"))
	}
	wantSigned(t, hit, a.Secret)
}

func TestRequest_HeadersOfTheServiceAreRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, `{"url":"https://example.com/","schedule_in":3600}`)
	run := create(a.Client, `{"url":"https://example.com/","repeat_every":3600,"schedule_in":3600}`)
	schedule := "/api/schedules/" + run.Get("schedule_id").Str()
	for _, name := range []string{"X-Punctual-Job-Id", "x-punctual-complete", "X-PUNCTUAL-ANYTHING", "Expect", "expect"} {
		headers := `"headers":{"x-own":"1","` + name + `":["100-continue"]}`
		pointer := "#/headers/" + name
		create := `{"url":"https://example.com/",` + headers + `}`
		a.Post("/api/jobs", create).WantProblem(422).WantPointers(pointer)
		a.Post("/api/preview", create).WantProblem(422).WantPointers(pointer)
		a.Post("/api/jobs/batch", "["+create+"]").WantProblem(422).WantPointers("#/0/headers/" + name)
		a.Do("PATCH", jobPath(job), "{"+headers+"}").WantProblem(422).WantPointers(pointer)
		a.Do("PATCH", schedule, "{"+headers+"}").WantProblem(422).WantPointers(pointer)
		a.Do("PUT", "/api/schedules/key:k", with(create, `"repeat_every":3600`)).WantProblem(422).WantPointers(pointer)
		a.Post("/api/apply", document("", dailyItem("a", ","+headers))).WantProblem(422).WantPointers("#/schedules/0/headers/" + name)
		a.Post(jobPath(job)+"/rerun", "{"+headers+"}").WantProblem(422).WantPointers(pointer)
		a.Post("/api/operations", `{"action":"rerun","filter":{},"all":true,"set":{`+headers+
			`}}`).WantProblem(422).WantPointers("#/set/headers/" + name)
		result := harness.Command(t, clientOf(a), "jobs", "create", "https://example.com/", "--header", name+": 100-continue")
		if result.Code == 0 || !strings.Contains(result.Stderr, name) {
			t.Errorf("the command accepts %s: %+v", name, result)
		}
	}
}
