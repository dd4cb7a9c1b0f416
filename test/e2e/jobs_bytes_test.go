package e2e

import (
	"encoding/base64"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestRequest_BytesAreSentAsTheyAre also edits the job from a body to bytes, and
// reruns it.
func TestRequest_BytesAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	callback := harness.SharedTarget(t).Route(t)
	all := make([]byte, 8192)
	for i := range all {
		all[i] = byte(i)
	}
	encoded := base64.StdEncoding.EncodeToString(all)
	job := create(a.Client, `{"url":"`+target.URL+`","method":"post","body":{"a":1},"scheduled_at":"`+far+`","callback_url":"`+callback.URL+
		`"}`)
	edited := a.Do("PATCH", jobPath(job), `{"body_base64":"`+encoded+`"}`).Want(200).Data()
	wantSame(t, "args", edited.Get("args"), `{"url":"`+target.URL+`","method":"post","body_base64":"`+encoded+`","scheduled_at":"`+far+
		`","callback_url":"`+callback.URL+`","headers":{}}`)
	again := a.Post(jobPath(job)+"/rerun", nil).Want(201).Data()
	hit := target.Await(t, 1, soon)[0]
	if string(hit.Body) != string(all) || hit.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("sent %d bytes as %s", len(hit.Body), hit.Header.Get("Content-Type"))
	}
	log := logsOf(a.Client, again)[0].Get("payload")
	if log.Get("body").Str() != encoded || log.Get("encoding").Str() != "base64" {
		t.Errorf("the log is %.300s", log.Raw())
	}
	report := harness.JSON(callback.Await(t, 1, soon)[0].Body)
	if report.Get("request.body").Str() != encoded || report.Get("request.encoding").Str() != "base64" ||
		report.Get("job.args.body_base64").Str() != encoded {
		t.Errorf("the callback is %.300s", report.Raw())
	}
	text := create(a.Client, `{"url":"`+target.URL+`","method":"put","headers":{"Content-Type":"application/json"},"body_base64":"`+
		base64.StdEncoding.EncodeToString([]byte(`{"a":"$job.id"}`))+`"}`)
	hit = target.Await(t, 2, soon)[1]
	if string(hit.Body) != `{"a":"$job.id"}` || hit.Header.Get("Content-Type") != "application/json" {
		t.Errorf("sent %s as %s", hit.Body, hit.Header.Get("Content-Type"))
	}
	wantSame(t, "log", logsOf(a.Client, text)[0].Get("payload.body"), `"{\"a\":\"$job.id\"}"`)
	a.Do("PATCH", jobPath(job), `{"body":[],"body_base64":"AA=="}`).WantProblem(422).WantPointers("#/body", "#/body_base64")
}
