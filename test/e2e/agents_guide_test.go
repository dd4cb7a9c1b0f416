package e2e

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

var (
	guideBlock = regexp.MustCompile("(?s)```json\n(\\{.*?)\n```")
	guideTime  = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	guideJob   = regexp.MustCompile(`\bJob \d+\b`)
)

// The exchange in the guide is one that happens: each call, with the texts of its result.
func TestAgents_GuideShowsWhatHappens(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/guides/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, exchange, found := strings.Cut(string(text), "\n## An exchange\n")
	exchange, _, _ = strings.Cut(exchange, "\n## ")
	blocks := guideBlock.FindAllStringSubmatch(exchange, -1)
	if !found || len(blocks) < 8 || len(blocks)%2 != 0 {
		t.Fatalf("the guide has %d blocks", len(blocks))
	}
	general := func(text string) string {
		return guideJob.ReplaceAllString(guideTime.ReplaceAllString(text, "TIME"), "Job N")
	}
	owner := account(t)
	a := agentOf(t, owner.Client, owner.Key)
	var number int64
	for i := 0; i < len(blocks); i += 2 {
		var call struct {
			Tool      string
			Arguments args
		}
		var want map[string]string
		if err := json.Unmarshal([]byte(blocks[i][1]), &call); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(blocks[i+1][1]), &want); err != nil {
			t.Fatal(err)
		}
		if call.Arguments["job_id"] != nil {
			call.Arguments["job_id"] = number
		}
		got, _ := a.call(call.Tool, call.Arguments)
		if made := got.Get("data.job_id"); made.Exists() {
			number = made.Int()
		}
		for name, text := range want {
			if harness.JSON(got).Get(name).Str() == "" || general(got.Get(name).Str()) != general(text) {
				t.Errorf("%s: %s is\n%s\nthe guide has\n%s", call.Tool, name, got.Get(name).Str(), text)
			}
		}
	}
}
