package dashboard

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/stats"
)

var homeRoutes = []route{
	{"/{$}", forMembers, map[string]handler{"GET": (*Server).overview}},
}

const (
	// dueWithin and failedWithin are how far ahead and back the overview lists jobs.
	dueWithin    = time.Hour
	failedWithin = 24 * time.Hour
	// dueScanned is how many queued jobs are read at most to count those due.
	dueScanned = 5000
	// maxFailing is how many failing schedules are read at most.
	maxFailing = 1000
	// listed is how many jobs each list of the overview has.
	listed = 6
)

// period is how far back the overview goes. A point of its plots is per minutes.
type period struct {
	value, label string
	minutes, per int
}

var periods = []period{{"", "Hour", 60, 1}, {"6h", "6 hours", 360, 6}, {"24h", "Day", 1440, 24}}

func (s *Server) overview(c *call) error {
	ctx := c.r.Context()
	o := &view.Overview{Self: c.here("part", "overview")}
	period := periods[0]
	for _, p := range periods {
		if p.value == c.param("span") {
			period = p
		}
	}
	for _, p := range periods {
		o.Tabs = append(o.Tabs, ui.Tab{Label: p.label, Href: c.here("span", p.value), Current: p == period})
	}
	series, err := s.Stats.Steps(ctx, c.owner().Number, period.minutes, period.per)
	if err != nil {
		return err
	}
	o.Figures, o.Plots, o.FailedAttempts = figures(&series.Total), plots(series, period), series.Total.Failed
	now := s.Service.Now()
	due, err := s.Service.JobsDue(ctx, c.owner(), now.Add(dueWithin), listed, dueScanned)
	if err != nil {
		return err
	}
	o.Due, o.DueCount = due.Jobs, dueCount(due)
	if err := s.readFailures(c, o, now.Add(-failedWithin)); err != nil {
		return err
	}
	counts, _, err := s.Service.Counts(ctx, c.owner(), job.Query{}, service.CountLimit)
	if err != nil {
		return err
	}
	o.Retryable, o.Newcomer = counts[job.Retryable], series.Total.Runs() == 0
	for _, n := range counts {
		o.Newcomer = o.Newcomer && n == 0
	}
	if c.part() == "overview" {
		return c.render(http.StatusOK, view.OverviewPart(o))
	}
	return c.render(http.StatusOK, view.OverviewPage(o))
}

// readFailures reads which schedules fail, and what has failed since a time.
func (s *Server) readFailures(c *call, o *view.Overview, since time.Time) error {
	var err error
	if o.Failing, err = s.failing(c); err != nil {
		return err
	}
	failed, err := s.Service.FailuresSince(c.r.Context(), c.owner(), since, view.FailuresRead+1)
	if err != nil {
		return err
	}
	if o.FailuresPartly = len(failed) > view.FailuresRead; o.FailuresPartly {
		failed = failed[:view.FailuresRead]
	}
	o.Failures = view.GroupFailures(failed)
	return nil
}

// failing returns the schedules that fail, at most maxFailing.
func (s *Server) failing(c *call) (f view.Failing, err error) {
	f.Schedules, err = s.Service.SchedulesFailing(c.r.Context(), c.owner(), maxFailing+1)
	if f.More = len(f.Schedules) > maxFailing; f.More {
		f.Schedules = f.Schedules[:maxFailing]
	}
	return f, err
}

// rate returns the percentage of runs that succeeded; NaN without any.
func rate(p *stats.Point) float64 {
	if p.Runs() == 0 {
		return math.NaN()
	}
	return 100 * float64(p.Succeeded) / float64(p.Runs())
}

// failureRate returns the percentage of attempts that failed; NaN without any.
func failureRate(p *stats.Point) float64 { return 100 - rate(p) }

// failurePercent formats a percentage of failures. It is 0 % only if nothing failed.
func failurePercent(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v > 0 && v < 0.1:
		return "< 0.1 %"
	}
	return strconv.FormatFloat(math.Ceil(v*10-1e-9)/10, 'f', -1, 64) + " %"
}

// percent formats a percentage. It is 100 % only if nothing failed.
func percent(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v > 99.9 && v < 100:
		return "> 99.9 %"
	}
	return strconv.FormatFloat(math.Floor(v*10)/10, 'f', -1, 64) + " %"
}

// orDash formats milliseconds; NaN is a dash.
func orDash(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return view.Millis(v)
}

// within describes a 99th percentile; NaN is "".
func within(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return "p99 " + view.Millis(v)
}

// figures returns the totals of a period.
func figures(total *stats.Point) []view.Figure {
	return []view.Figure{
		{Name: "Attempts", Value: ui.Count(total.Runs()), Below: ui.Count(total.Failed) + " failed"},
		{Name: "Success rate", Value: percent(rate(total)), Below: "of all attempts"},
		{Name: "Median lateness", Value: orDash(total.LatenessP50), Below: within(total.LatenessP99)},
		{Name: "Median duration", Value: orDash(total.DurationP50), Below: within(total.DurationP99)},
	}
}

// plots returns the course of a period.
func plots(series *stats.Series, p period) []ui.Plot {
	values := func(of func(*stats.Point) float64) []float64 {
		values := make([]float64, len(series.Points))
		for i := range series.Points {
			values[i] = of(&series.Points[i])
		}
		return values
	}
	total, per := &series.Total, float64(p.per)
	from, during := ui.Relative(time.Time{}.Add(time.Duration(p.minutes)*time.Minute), time.Time{}), "in the last "+p.words()
	most := 0.0
	runs := values(func(p *stats.Point) float64 { most = max(most, float64(p.Runs())/per); return float64(p.Runs()) / per })
	plots := []ui.Plot{
		{
			ID: "runs", Title: "Attempts per minute", Bars: true,
			Series:  []ui.Series{{Name: "all", Values: runs}, {Name: "failed", Values: values(func(p *stats.Point) float64 { return float64(p.Failed) / per })}},
			Summary: fmt.Sprintf("%s %s, %s of them failed; at most %s a minute.", ui.Count(total.Runs()), during, ui.Count(total.Failed), strconv.FormatFloat(math.Round(most*10)/10, 'f', -1, 64)),
		},
		{
			ID: "rate", Title: "Failure rate", Unit: "%", Series: []ui.Series{{Name: "failed", Values: values(failureRate)}},
			Summary: failurePercent(failureRate(total)) + " of the attempts " + during + " failed.",
		},
		{
			ID: "lateness", Title: "Lateness", Unit: "ms",
			Series:  []ui.Series{{Name: "p50", Values: values(func(p *stats.Point) float64 { return p.LatenessP50 })}, {Name: "p99", Values: values(func(p *stats.Point) float64 { return p.LatenessP99 })}},
			Summary: fmt.Sprintf("%s: p50 %s, p99 %s after the due time.", during, orDash(total.LatenessP50), orDash(total.LatenessP99)),
		},
		{
			ID: "durations", Title: "Attempt duration", Unit: "ms",
			Series:  []ui.Series{{Name: "p50", Values: values(func(p *stats.Point) float64 { return p.DurationP50 })}, {Name: "p99", Values: values(func(p *stats.Point) float64 { return p.DurationP99 })}},
			Summary: fmt.Sprintf("%s: p50 %s, p99 %s.", during, orDash(total.DurationP50), orDash(total.DurationP99)),
		},
	}
	for i := range plots {
		plots[i].From, plots[i].To = from, "now"
	}
	return plots
}

func (p period) words() string {
	if p.minutes == 60 {
		return "hour"
	}
	return strconv.Itoa(p.minutes/60) + " hours"
}

// dueCount formats how many jobs are due within the hour.
func dueCount(due *job.DueJobs) string {
	text := ui.Count(int64(due.Count))
	if due.Partly {
		text = "at least " + text
	}
	return text
}
