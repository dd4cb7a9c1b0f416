package view

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestJob_ShowsTheProgressOfWorkThatIsAwaited(t *testing.T) {
	render := func(c *job.Completion) string {
		d := &Job{Job: &job.Job{Number: 1, State: job.Executing}, Completion: c}
		var b strings.Builder
		if err := completionCard(d).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	deadline := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	page := render(&job.Completion{State: job.CompletionAwaiting, Deadline: deadline,
		Progress: rawjson.Value(`{"progress":42.5,"message":"<page> 3","reported_at":"x"}`)})
	for _, want := range []string{`max="100" value="42.5"`, "42.5 %", "&lt;page&gt; 3", "2026-03-01T12:00:00.000Z"} {
		if !strings.Contains(page, want) {
			t.Errorf("does not contain %q: %s", want, page)
		}
	}
	if page := render(&job.Completion{State: job.CompletionAwaiting}); !strings.Contains(page, "reported no progress yet") {
		t.Errorf("without progress: %s", page)
	}
	if page := render(&job.Completion{State: job.CompletionOver}); page != "" {
		t.Errorf("after the end: %s", page)
	}
	if page := render(nil); page != "" {
		t.Errorf("without a completion: %s", page)
	}
}
