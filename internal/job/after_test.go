package job_test

import (
	"slices"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestAfter_AllProblemsAreListed(t *testing.T) {
	find := func(names []job.JobName) []*job.AwaitedJob {
		found := make([]*job.AwaitedJob, len(names))
		for i, n := range names {
			if n.Ref.Number == 1 {
				found[i] = &job.AwaitedJob{Number: 1}
			}
		}
		return found
	}
	for text, want := range map[string][]string{
		`[1,1,99999,"x"]`:       {"#/after/jobs/2", "#/after/jobs/3"},
		`["x",1,"key:gone",-1]`: {"#/after/jobs/0", "#/after/jobs/2", "#/after/jobs/3"},
		`["x"]`:                 {"#/after/jobs/0"},
	} {
		body := `{"url":"https://x","after":{"jobs":` + text + `}}`
		_, err := job.Read(rawjson.Value(body), job.ReadOptions{Now: time.Now(), FindJobs: find})
		got := pointers(err)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: problems at %q, want %q", text, got, want)
		}
	}
	draft, err := job.Read(rawjson.Value(`{"url":"https://x","after":{"jobs":[1,1]}}`), job.ReadOptions{Now: time.Now(), FindJobs: find})
	if err != nil || len(draft.Awaited) != 1 {
		t.Errorf("the same job twice: %+v, %v", draft, err)
	}
}
