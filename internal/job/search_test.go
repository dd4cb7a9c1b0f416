package job_test

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestMatcher_SearchesOnlyURLAndName(t *testing.T) {
	name := "Morning Résumé \"x\""
	j := &job.Job{Name: &name, Args: rawjson.Value(
		`{"body":{"url":"https://body.example/"},"url":"https://API.example.com/Pay?a=\"1\"","method":"post"}`)}
	for text, want := range map[string]bool{
		"pay": true, "API.EXAMPLE": true, "morning": true, "RÉSUMÉ": true, `"x"`: true, `a="1"`: true,
		"body.example": false, "post": false, "method": false, "nothing": false, "example.com/Pay?a=\\": false,
	} {
		if got := job.Matcher(text)(j); got != want {
			t.Errorf("%q matches: %v, want %v", text, got, want)
		}
	}
	if job.Matcher("x")(&job.Job{Args: rawjson.Value(`{"url":"https://a/"}`)}) {
		t.Error("a job without a name matches")
	}
}
