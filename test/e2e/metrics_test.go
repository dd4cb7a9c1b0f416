package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// metric reads one series from /metrics, 0 when it is not there.
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

func TestMetricsCountWhatHappens(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t)
	failing := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	finished(t, c, `{"url":"`+target.URL+`","callback_url":"`+target.URL+`/callback"}`, "completed")
	finished(t, c, `{"retries":0,"url":"`+failing.URL+`"}`, "discarded")
	finished(t, c, `{"retries":0,"url":"https://`+closedPort(t)+`/"}`, "discarded")
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

func TestMetricsShowRequestsUnderWay(t *testing.T) {
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
