package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A workflow is what the rules look at.
type workflow struct {
	On          yaml.Node `yaml:"on"`
	Permissions *map[string]string
	Jobs        map[string]struct {
		Permissions *map[string]string
		Steps       []struct{ Uses, Run string }
		Uses        string
	}
}

// events returns what starts the workflow, in any of the forms of `on`.
func (w *workflow) events(t *testing.T) []string {
	t.Helper()
	var names []string
	switch w.On.Kind {
	case yaml.ScalarNode:
		names = []string{w.On.Value}
	case yaml.SequenceNode:
		if err := w.On.Decode(&names); err != nil {
			t.Fatal(err)
		}
	case yaml.MappingNode:
		var all map[string]any
		if err := w.On.Decode(&all); err != nil {
			t.Fatal(err)
		}
		names = slices.Sorted(maps.Keys(all))
	}
	return names
}

var (
	pinnedAction = regexp.MustCompile(`uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	secretOfRun  = regexp.MustCompile(`\$\{\{[^}]*\b(secrets|github\.token)\b`)
)

// complaints returns which rules a workflow breaks.
func complaints(t *testing.T, text string) []string {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	var all []string
	complain := func(format string) { all = append(all, format) }
	events := w.events(t)
	// These run with this repository's rights on what a fork's pull request made.
	for _, event := range events {
		if !slices.Contains([]string{"push", "pull_request"}, event) {
			complain("is started by " + event)
		}
	}
	if slices.Contains(events, "pull_request") && secretOfRun.MatchString(text) {
		complain("has secrets where pull requests run")
	}
	if w.Permissions == nil {
		complain("leaves the rights of its jobs to the repository's settings")
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Contains(line, "uses:") && !pinnedAction.MatchString(line) {
			complain("has an action without commit and version: " + line)
		}
	}
	for name, job := range w.Jobs {
		rights := w.Permissions
		if job.Permissions != nil {
			rights = job.Permissions
		}
		if slices.Contains(events, "pull_request") && rights != nil && slices.ContainsFunc(slices.Collect(maps.Values(*rights)),
			func(r string) bool { return r == "write" }) {
			complain("gives the job " + name + " rights to write, and pull requests run it")
		}
		for _, step := range job.Steps {
			if strings.Contains(step.Run, "${{") {
				complain("has an expression in a script of the job " + name)
			}
		}
	}
	return all
}

func TestWorkflows_TrustNoStranger(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../.github/workflows/*")
	if err != nil || len(files) < 2 {
		t.Fatalf("found the workflows %v: %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range complaints(t, string(text)) {
			t.Errorf("%s %s", filepath.Base(file), c)
		}
	}
}

// Each of these workflows breaks one rule.
func TestWorkflows_ThatTrustStrangersAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"on: {workflow_run: {workflows: [release]}}\npermissions: {}": "is started by workflow_run",
		"on: [push, pull_request_target]\npermissions: {}":            "is started by pull_request_target",
		"on: push":         "leaves the rights",
		"on: pull_request": "leaves the rights",
		"on: push\npermissions: {}\njobs: {a: {steps: [\n{uses: actions/checkout@v4}]}}":                          "without commit",
		"on: push\npermissions: {}\njobs: {a: {steps: [{run: \"echo ${{ github.head_ref }}\"}]}}":                 "an expression in a script",
		"on: pull_request\npermissions: {}\njobs: {a: {permissions: {contents: write}}}":                          "rights to write",
		"on: pull_request\npermissions: {contents: write}\njobs: {a: {}}":                                         "rights to write",
		"on: pull_request\npermissions: {}\njobs: {a: {steps: [{run: x, env: {K: \"${{ secrets.KEY }}\"}}]}}":     "has secrets",
		"on: pull_request\npermissions: {}\njobs: {a: {steps: [{run: x, env: {K: \"${{ github.token }}\"}}]}}":    "has secrets",
		"on: push\npermissions: {}\njobs:\n  a:\n    uses: other/repository/.github/workflows/build.yml@main # 1": "without commit",
	} {
		if got := complaints(t, text); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q: %q, want one that it %s", text, got, want)
		}
	}
}

// TestWorkflows_PublishWhatAllOthersPassed: nothing is published before each job that only
// reads has succeeded.
func TestWorkflows_PublishWhatAllOthersPassed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Jobs map[string]struct {
			Needs       any
			Permissions map[string]string
		}
	}
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	needs, _ := w.Jobs["publish"].Needs.([]any)
	for name, job := range w.Jobs {
		if job.Permissions["contents"] == "read" && !slices.Contains(needs, any(name)) {
			t.Errorf("publish needs %v, not %s", needs, name)
		}
	}
}

// Images of others are pinned by digest, beside the tag that says which version it is.
func TestImages_ArePinned(t *testing.T) {
	t.Parallel()
	own := regexp.MustCompile(`ghcr\.io/punctual-dev/punctual:`)
	pinned := regexp.MustCompile(`^\S+:[\w.-]+@sha256:[0-9a-f]{64}$`)
	reference := regexp.MustCompile(`(?m)^(?:FROM|[ \t]*-?[ \t]*(?:image|url):)[ \t]+(\S+)`)
	found := 0
	for _, file := range []string{
		"container/Dockerfile", "compose/compose.yaml", "kubernetes/deployment.yaml", "render/render.yaml",
	} {
		for _, m := range reference.FindAllStringSubmatch(read(t, file), -1) {
			if own.MatchString(m[1]) {
				continue
			}
			if found++; !pinned.MatchString(m[1]) {
				t.Errorf("%s has the image %s without a digest", file, m[1])
			}
		}
	}
	if found != 4 {
		t.Errorf("found %d images of others, want 4", found)
	}
}
