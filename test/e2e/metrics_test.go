package e2e

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// metric returns one series of /metrics, 0 if it is absent.
func metric(t *testing.T, c *harness.Client, series string) float64 {
	t.Helper()
	for line := range strings.SplitSeq(string(c.Get("/metrics").Want(200).Body), "\n") {
		if value, found := strings.CutPrefix(line, series+" "); found {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatalf("%s is %q", series, value)
			}
			return n
		}
	}
	return 0
}

func TestMetrics_CountWhatHappens(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t)
	failing := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	finished(t, c, `{"url":"`+target.URL+`","callback_url":"`+target.URL+`/callback"}`, "completed")
	finished(t, c, `{"retries":0,"url":"`+failing.URL+`"}`, "discarded")
	finished(t, c, `{"retries":0,"url":"https://127.0.0.1:1/"}`, "discarded")
	cancel(c, create(c, keyed("k")))
	create(c, keyed("k"))
	c.Post("/api/jobs", keyed("k")).Want(200)
	target.AwaitEnds(t, 2, soon)
	for series, want := range map[string]float64{
		`punctual_jobs_created_total`:                                  5,
		`punctual_jobs_duplicate_total`:                                1,
		`punctual_jobs_finished_total{outcome="completed"}`:            1,
		`punctual_jobs_finished_total{outcome="discarded"}`:            2,
		`punctual_jobs_finished_total{outcome="cancelled"}`:            1,
		`punctual_attempts_total{kind="job",outcome="success"}`:        1,
		`punctual_attempts_total{kind="job",outcome="status"}`:         1,
		`punctual_attempts_total{kind="job",outcome="connect"}`:        1,
		`punctual_attempts_total{kind="delivery",outcome="success"}`:   1,
		`punctual_lateness_seconds_count{kind="job"}`:                  3,
		`punctual_lateness_seconds_count{kind="delivery"}`:             1,
		`punctual_lateness_seconds_bucket{kind="job",le="10"}`:         3,
		`punctual_attempt_duration_seconds_count{kind="job"}`:          3,
		`punctual_http_requests_total{route="/api/jobs",status="201"}`: 5,
	} {
		if !harness.Within(soon, func() bool { return metric(t, c, series) == want }) {
			t.Errorf("%s is %v, want %v", series, metric(t, c, series), want)
		}
	}
}

func TestMetrics_ShowRequestsUnderWay(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	for range 3 {
		create(c, `{"url":"`+target.URL+`"}`)
	}
	target.Await(t, 3, soon)
	inUse := func() float64 { return metric(t, c, `punctual_runs_in_use{kind="job"}`) }
	if got := inUse(); got != 3 {
		t.Errorf("3 requests are under way, the metric says %v", got)
	}
	release()
	harness.Eventually(t, soon, "no request to be under way", func() bool { return inUse() == 0 })
}

func TestMetrics_ArePrometheusTextAndBeginWithPunctual(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	awaitState(t, a.Client, create(a.Client, `{"url":"`+target.URL+`"}`), "completed")
	answer := a.Get("/metrics").Want(200)
	if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/plain") {
		t.Errorf("Content-Type is %q", got)
	}
	families, own := map[string]bool{}, 0
	for line := range strings.Lines(string(answer.Body)) {
		line = strings.TrimSuffix(line, "\n")
		if found := typeLine.FindStringSubmatch(line); found != nil {
			families[found[1]] = true
			continue
		}
		if line == "" || helpLine.MatchString(line) {
			continue
		}
		found := sampleLine.FindStringSubmatch(line)
		if found == nil {
			t.Errorf("not a line of the text format: %q", line)
			continue
		}
		name := found[1]
		switch {
		case strings.HasPrefix(name, "punctual_"):
			own++
		case !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_"):
			t.Errorf("%s begins with neither punctual_ nor go_ nor process_", name)
		}
		if !families[name] && !families[trimSuffixes(name)] {
			t.Errorf("%s has no TYPE line before it", name)
		}
	}
	if own == 0 {
		t.Errorf("no metric begins with punctual_: %s", answer)
	}
}

// One line of the Prometheus text format: a comment, or a name, labels and a value.
var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\.)*",?)*\})? ` +
		`([+-]?(\d+(\.\d+)?([eE][+-]?\d+)?|Inf)|NaN)( -?\d+)?$`)
	typeLine = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)$`)
	helpLine = regexp.MustCompile(`^# HELP [a-zA-Z_:][a-zA-Z0-9_:]* \S`)
)

// trimSuffixes returns the family of a histogram's or summary's sample.
func trimSuffixes(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if family, ok := strings.CutSuffix(name, suffix); ok {
			return family
		}
	}
	return name
}

func TestMetrics_AreServedOnAnotherAddress(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("metrics-listen", "127.0.0.1:0"), harness.Flag("public-url", "https://punctual.example.com"))
	var found []string
	harness.Eventually(t, soon, "the address", func() bool {
		found = metricsAddress.FindStringSubmatch(s.Stderr())
		return found != nil
	})
	elsewhere := "http://" + found[1]
	status := func(address string) int {
		t.Helper()
		response, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	harness.Eventually(t, soon, "the service to be ready", func() bool { return status(s.URL()+"/readyz") == 200 })
	for path, want := range map[string][2]int{
		"/metrics": {404, 200}, "/healthz": {200, 200}, "/readyz": {200, 200}, "/api/ping": {200, 404}, "/api/jobs": {401, 404},
		"/": {200, 404}, "/docs": {200, 404},
		"/debug/pprof/": {404, 200}, "/debug/pprof/heap": {404, 200}, "/debug/pprof/profile?seconds=1": {404, 200},
		"/debug/pprof/cmdline": {404, 404},
	} {
		if here, there := status(s.URL()+path), status(elsewhere+path); here != want[0] || there != want[1] {
			t.Errorf("%s: %d on the public address and %d on the other one, want %v", path, here, there, want)
		}
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

var metricsAddress = regexp.MustCompile(`"metrics_address":"([^"]+)"`)
