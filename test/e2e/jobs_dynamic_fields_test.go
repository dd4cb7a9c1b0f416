package e2e

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// sequel creates a schedule whose runs get these responses, one each, and
// returns the requests of that many runs and one more.
func sequel(t *testing.T, c *harness.Client, members string, answers ...string) (job harness.JSON, hits []harness.Hit) {
	t.Helper()
	target := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(`{}`))
	for _, answer := range answers {
		mediaType, status := "application/json", 200
		if rest, failing := strings.CutPrefix(answer, "500 "); failing {
			answer, status = rest, 500
		}
		if rest, plain := strings.CutPrefix(answer, "text "); plain {
			answer, mediaType = rest, "text/plain"
		}
		target.RespondOnce(harness.Reply(status, mediaType, answer))
	}
	job = create(c, with(`{"method":"post","retries":0,"repeat_every":1,"url":"`+target.URL+`"}`, members))
	hits = target.AwaitEnds(t, len(answers)+1, 3*soon)
	c.Post(schedulePath(job)+"/disable", nil).Want(200)
	return job, hits
}

func TestDynamicFields_ObjectGetsThreeMetadataKeysAlsoInTheLog(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"method":"post","body":{"a":1},"url":"`+target.URL+`"}`)
	hit := target.Await(t, 1, soon)[0]
	want := `{"a":1,"$job":{"id":` + job.Get("job_id").Raw() + `},"$previous":{},"$state":{}}`
	wantSame(t, "the body", hit.JSON(), want)
	wantSame(t, "the log's", awaitLogs(t, a.Client, job, 1, soon)[0].Get("payload.body"), want)
	wantSame(t, "args", job.Get("args.body"), `{"a":1}`)
	for _, body := range []string{`[1]`, `"text"`, `7`, `null`} {
		hit := sent(t, a.Client, "", `"method":"post","body":`+body)
		if got := string(hit.Body); got != strings.TrimPrefix(body, "null") {
			t.Errorf("%s was sent as %s", body, got)
		}
	}
}

func TestDynamicFields_StringThatIsExactlyOneIsReplaced(t *testing.T) {
	t.Parallel()
	a := account(t)
	const answer = `{"items":[{"id":"x"},[1.10]],"none":null,"$set":{"sent":12345678901234567890,"deep":{"a.b":1,"c":[true]}}}`
	job, hits := sequel(t, a.Client, `"metadata":false,"query":{"id":"$job.id","sent":"$state.sent","none":"$state.none",
		"list":["$previous.items.0.id","$$job"],"plain":"x $job.id"},
		"body":{"job":"$job","id":"$job.id","state":"$state.deep","number":"$state.sent","item":"$previous.items.0.id",
		"list":["$previous.items.1","$previous.items.7","$previous.nothing.there"],"null":"$previous.none","$state.sent":"key",
		"literal":"$$state.sent","plain":["$jobs","$ job","$job.","a $job","$$other","$","$$"]}`, answer)
	id := hits[1].Header.Get("X-Punctual-Job-Id")
	want := `{"job":{"id":ID},"id":ID,"state":{"a.b":1,"c":[true]},"number":12345678901234567890,"item":"x",
		"list":[[1.10],null,null],"null":null,"$state.sent":"key",
		"literal":"$state.sent","plain":["$jobs","$ job","$job.","a $job","$$other","$","$$"]}`
	wantSame(t, "the body", hits[1].JSON(), strings.ReplaceAll(want, "ID", id))
	wantQuery := "id=" + id + " sent=12345678901234567890 list=x list=$job plain=x $job.id"
	if got := strings.Join(pairs(t, hits[1].RawQuery), " "); got != wantQuery {
		t.Errorf("the query is %q, want %q", got, wantQuery)
	}
	run := a.Get("/api/jobs/" + id).Want(200).Data()
	wantSame(t, "args of the run", run.Get("args"), job.Get("args").Raw())
}

func TestDynamicFields_BodyThatIsExactlyOneIsReplaced(t *testing.T) {
	t.Parallel()
	a := account(t)
	_, hits := sequel(t, a.Client, `"body":"$previous"`, `[1,{"a":2}]`)
	wantSame(t, "the first body, an object", hits[0].JSON(),
		`{"$job":{"id":`+hits[0].Header.Get("X-Punctual-Job-Id")+`},"$previous":{},"$state":{}}`)
	wantSame(t, "the second body", hits[1].JSON(), `[1,{"a":2}]`)
	hit := sent(t, a.Client, "", `"method":"post","metadata":false,"body":"$job"`)
	wantSame(t, "without metadata", hit.JSON(), `{"id":`+hit.Header.Get("X-Punctual-Job-Id")+`}`)
	hit = sent(t, a.Client, "", `"method":"post","body":"$$previous"`)
	wantSame(t, "escaped", hit.JSON(), `"$previous"`)
}

func TestDynamicFields_FormFieldsAreReplacedWithoutMetadataKeys(t *testing.T) {
	t.Parallel()
	a := account(t)
	hit := sent(t, a.Client, "", `"method":"post","headers":{"content-type":"application/x-www-form-urlencoded"},
		"body":{"id":"$job.id","literal":"$$job","n":{"a":"$job.id"}}`)
	id := hit.Header.Get("X-Punctual-Job-Id")
	if got, want := strings.Join(pairs(t, string(hit.Body)), " "), "id="+id+" literal=$job n[a]="+id; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestDynamicFields_PreviousIsTheJSONResponseOfTheLastSuccessfulRun(t *testing.T) {
	t.Parallel()
	a := account(t)
	answers := []string{`{"n": 1.0}`, `500 {"failed":1}`, `[1]`, `"text"`, `null`, `text {"not":"JSON"}`}
	want := []string{`{}`, `{"n":1.0}`, `{"n":1.0}`, `[1]`, `"text"`, `null`, `{}`}
	_, hits := sequel(t, a.Client, `"body":{}`, answers...)
	for i := range want {
		wantSame(t, "$previous of the next run", hits[i].JSON().Member("$previous"), want[i])
	}
}

func TestDynamicFields_PreviousIsClearedByDisable(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(`{"a":1,"$set":{"b":2}}`))
	job := create(a.Client, `{"method":"post","body":{},"repeat_every":1,"url":"`+target.URL+`"}`)
	awaitState(t, a.Client, job, "completed")
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
	harness.Eventually(t, soon, "no run to be under way", func() bool {
		return len(unfinished(a.Client, job.Get("schedule_id").Str())) == 0
	})
	before := len(target.Hits())
	a.Post(schedulePath(job)+"/enable", nil).Want(200)
	hits := target.Await(t, before+2, soon)[before:]
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
	wantSame(t, "$previous", hits[0].JSON().Member("$previous"), `{}`)
	wantSame(t, "$state lasts", hits[0].JSON().Member("$state"), `{"b":2}`)
	wantSame(t, "$previous of the one after", hits[1].JSON().Member("$previous"), `{"a":1,"$set":{"b":2}}`)
}

func TestDynamicFields_SetMergesKeysIntoTheState(t *testing.T) {
	t.Parallel()
	a := account(t)
	answers := []string{`{"$set":{"a":1,"b":{"c":1}}}`, `{"$set":{"b":{"d":2},"e":null}}`, `500 {"$set":{"a":9}}`,
		`{"$set":[1]}`, `{"$set":{}}`, `text {"$set":{"a":9}}`, `[{"$set":{"a":9}}]`}
	_, hits := sequel(t, a.Client, `"body":{}`, answers...)
	const merged = `{"a":1,"b":{"d":2},"e":null}`
	for i, want := range []string{`{}`, `{"a":1,"b":{"c":1}}`, merged, merged, merged, merged, merged, merged} {
		wantSame(t, "$state after "+answers[max(0, i-1)], hits[i].JSON().Member("$state"), want)
	}
}

func TestDynamicFields_StateOver64KiBIsLoggedAndTheOldOneStays(t *testing.T) {
	t.Parallel()
	a := account(t)
	big := func(n int) string { return `{"$set":{"big":"` + strings.Repeat("x", n) + `"}}` }
	const frame = len(`{"a":1,"big":""}`)
	_, hits := sequel(t, a.Client, `"body":{}`, `{"$set":{"a":1}}`, big(64<<10), big(64<<10-frame+1), big(64<<10-frame))
	for i, want := range []int{0, 0, 0, 0, 64<<10 - frame} {
		if got := len(hits[i].JSON().Member("$state").Get("big").Str()); got != want {
			t.Errorf("run %d sees %d bytes in $state.big, want %d", i+1, got, want)
		}
	}
	wantSame(t, "the old state stays", hits[3].JSON().Member("$state"), `{"a":1}`)
	for i, want := range []bool{false, true, true, false} {
		job := harness.JSON(`{"job_id":` + hits[i].Header.Get("X-Punctual-Job-Id") + `}`)
		logs := events(awaitLogs(t, a.Client, job, 2, soon))
		if got := logs[len(logs)-1] == "state.rejected"; got != want {
			t.Errorf("run %d has logs %q", i+1, logs)
		}
		wantSame(t, "the job's state", a.Get(jobPath(job)).Want(200).Data().Get("job.state"), `"completed"`)
	}
}

func TestDynamicFields_StateBelongsToItsSchedule(t *testing.T) {
	t.Parallel()
	a := account(t)
	_, one := sequel(t, a.Client, `"body":{}`, `{"$set":{"of":"one"}}`)
	_, two := sequel(t, a.Client, `"body":{}`, `{"$set":{"of":"two"}}`)
	wantSame(t, "one", one[1].JSON().Member("$state"), `{"of":"one"}`)
	wantSame(t, "two", two[1].JSON().Member("$state"), `{"of":"two"}`)
	target := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(`{"$set":{"a":1}}`))
	finished(t, a.Client, `{"url":"`+target.URL+`"}`, "completed") // a one-off has no state to set
}
