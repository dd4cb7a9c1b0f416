package cli

import (
	"encoding/json"
	"testing"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/why"
)

func TestWhy_HasACommandForEveryAction(t *testing.T) {
	for _, action := range why.Actions {
		if then[action] == "" {
			t.Errorf("there is no command for %s", action)
		}
	}
}

func TestStrip_ShowsRunsOldestFirst(t *testing.T) {
	for records, want := range map[string]string{
		`[]`:                              "",
		`[{"job":{"state":"available"}}]`: "",
		`[{"job":{"state":"available"}},{"job":{"state":"discarded"}},{"job":{"state":"cancelled"}},{"job":{"state":"completed"}}]`: "✓–✗, 1 of 3 failed",
	} {
		var runs []client.JobRecord
		if err := json.Unmarshal([]byte(records), &runs); err != nil {
			t.Fatal(err)
		}
		if got := strip(runs, terminal{}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
