package nodes

import (
	"context"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// weather runs a load while faults are made, waits until all is final and
// compares the history with the promises.
func weather(t *testing.T, c *Cluster, rate int, faults func(*History)) *Report {
	t.Helper()
	return (&Load{Cluster: c, History: NewHistory(), Rate: rate, Schedules: 8}).weather(t, faults)
}

// mixedWeather is weather with a mix of kinds of jobs.
func mixedWeather(t *testing.T, c *Cluster, rate int, faults func(*History)) *Report {
	t.Helper()
	l := &Load{Cluster: c, History: NewHistory(), Rate: rate, Schedules: 8}
	l.Terms = termsOf(rate)
	l.mix = &mix{Load: l, receiver: harness.SharedTarget(t).Route(t)}
	report := l.weather(t, faults)
	t.Log(report.mixed())
	if report.Limited == 0 || report.Completed == 0 || report.Expired == 0 || report.Messages == 0 {
		t.Error("the mix lacked a kind")
	}
	return report
}

func (l *Load) weather(t *testing.T, faults func(*History)) *Report {
	t.Helper()
	if err := l.prepare(); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	began := time.Now()
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		l.run(ctx)
	}()
	faults(l.History)
	// Schedules must be seen to go on afterwards.
	pause(6 * time.Second)
	end()
	<-loaded
	t.Logf("the load lasted %s", time.Since(began).Round(time.Second))
	calm := time.Now()
	if err := l.settle(); err != nil {
		t.Error(err) // the checker says more
	}
	settled := time.Now()
	err := l.Cluster.collect(l.History)
	if err == nil && l.mix != nil {
		err = l.mix.collect()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("calm after %s, read in %s", settled.Sub(calm).Round(time.Millisecond), time.Since(settled).Round(time.Millisecond))
	l.History.Slack = harness.Allowed(noticeWithin, began) - noticeWithin
	report := Check(l.History)
	report.tell(t, l.History)
	return report
}

// tell logs the figures and fails the test for each violation.
func (r *Report) tell(t *testing.T, h *History) {
	t.Helper()
	kinds := map[FaultKind]int{}
	for _, f := range h.Faults {
		kinds[f.Kind]++
	}
	t.Logf("%d jobs acknowledged, %d records, %d requests of which %d repeated, %d cancelled, %d slots made up, %d looks at schedules; faults %v",
		r.Accepted, r.Jobs, r.Requests, r.Repeated, len(h.Cancelled), r.Skipped, h.Looks, kinds)
	t.Logf("lateness: all %s; far from faults %s", quantiles(r.Late), quantiles(r.LateCalm))
	const most = 15
	for i, violation := range r.Violations {
		if i == most {
			t.Errorf("and %d more", len(r.Violations)-most)
			break
		}
		t.Error(violation)
	}
}
