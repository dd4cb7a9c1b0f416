package deploy

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// Without a limit, a service that needs more memory than expected takes it from others.
func TestUnit_LimitsMemory(t *testing.T) {
	t.Parallel()
	if !regexp.MustCompile(`\nMemoryMax=\d+[MG]\n`).MatchString(read(t, "systemd/punctual.service")) {
		t.Error("the unit sets no MemoryMax")
	}
}

func TestUnit_IsHardened(t *testing.T) {
	t.Parallel()
	// The issue is the unit, not the machine: this tool is part of systemd itself.
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is missing; install Debian's package systemd to rate the unit")
	}
	out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold=20",
		filepath.Join(directory, "systemd", "punctual.service")).CombinedOutput()
	found := regexp.MustCompile(`Overall exposure level for punctual\.service: (\d+\.\d)`).FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if level, err := strconv.ParseFloat(string(found[1]), 64); err != nil || level > 2.0 {
		t.Errorf("the exposure level is %s, want at most 2.0", found[1])
	}
}

func TestAlerts_FireAsTheirTestsSay(t *testing.T) {
	t.Parallel()
	promtool := program(t, "promtool", "prometheus")
	for _, args := range [][]string{
		{"check", "config", "--syntax-only", "prometheus.yml"}, {"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"},
	} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join(directory, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	rules := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, "prometheus/alerts.yml"), -1)
	if len(rules) != 12 {
		t.Errorf("%d rules, want 12", len(rules))
	}
	for _, rule := range rules {
		if !strings.Contains(read(t, "prometheus/alerts_test.yml"), "alertname: "+rule[1]) {
			t.Errorf("%s is not tested", rule[1])
		}
	}
}

// Every metric that the dashboard and the alerts name exists, with the labels they
// select, before anything has happened.
func TestMetrics_ThatAreNamedExist(t *testing.T) {
	t.Parallel()
	outbox := "sqlite:" + filepath.Join(t.TempDir(), "application.db")
	s := harness.Start(t, harness.Flag("outbox", outbox), harness.Flag("api-key", "sk_none")) // its metrics exist without a table
	awaitReady(t, s)
	response, err := http.Get(s.URL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	served := "\n" + string(text)
	selector := regexp.MustCompile(`\b((?:punctual|process|go)_[a-z_]+)(?:\{([^}]*)\})?`)
	equal := regexp.MustCompile(`(\w+)="([a-z]+)"`)
	named := 0
	for _, expr := range expressions(t) {
		for _, found := range selector.FindAllStringSubmatch(expr, -1) {
			name, labels := found[1], equal.FindAllString(found[2], -1)
			named++
			exists := false
			for line := range strings.SplitSeq(served, "\n") {
				if !strings.HasPrefix(line, name+" ") && !strings.HasPrefix(line, name+"{") {
					continue
				}
				exists = exists || !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(line, l) })
			}
			// These come with the first count, with PostgreSQL not at all, or with the first commit.
			if !exists && !slices.Contains([]string{"punctual_due_runs", "punctual_jobs"}, name) {
				t.Errorf("%s names %s with %v, which the service does not have", expr, name, labels)
			}
		}
	}
	if named < 30 {
		t.Errorf("found only %d metrics", named)
	}
}

// expressions returns those of the dashboard and of the alerts.
func expressions(t *testing.T) []string {
	t.Helper()
	var dashboard struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "grafana/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	var all []string
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		if p.Title == "" || len(p.Targets) == 0 || ids[p.ID] {
			t.Errorf("panel %d %q has no title, no query or another's id", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Expr string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "prometheus/alerts.yml")), &rules); err != nil {
		t.Fatal(err)
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			all = append(all, rule.Expr)
		}
	}
	if dashboard.UID != "punctual" || len(all) < 28 {
		t.Fatalf("found only %d queries", len(all))
	}
	return all
}
