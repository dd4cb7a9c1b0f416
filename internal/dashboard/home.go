package dashboard

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/store"
)

var homeRoutes = []route{
	{"/{$}", forMembers, map[string]handler{"GET": (*Server).overview}},
}

const (
	// dueWithin is how far ahead the overview looks, failedWithin how far back.
	dueWithin    = time.Hour
	failedWithin = 24 * time.Hour
	// dueLook is how many runs are looked at to find those that are due.
	dueLook = 5000
	// glanced is how many jobs a card of the overview lists.
	glanced = 6
)

// span is a time that the overview looks back, in steps that are drawn.
type span struct {
	value, label string
	minutes, per int
}

var spans = []span{{"", "Hour", 60, 1}, {"6h", "6 hours", 360, 6}, {"24h", "Day", 1440, 24}}

// overview is what the first page shows.
type overview struct {
	span     span
	tabs     []ui.Tab
	series   *stats.Series
	due      *store.Due
	failed   []failedJob
	counts   map[job.State]int64
	self     string
	newcomer bool // nothing is stored
}

// failedJob is a job that failed, with what its last log tells of it.
type failedJob struct {
	*job.Job
	why logLine
}

func (s *Server) overview(c *call) error {
	ctx := c.r.Context()
	o := &overview{span: spans[0], self: c.here("part", "overview")}
	for _, one := range spans {
		if one.value == c.param("span") {
			o.span = one
		}
	}
	for _, one := range spans {
		o.tabs = append(o.tabs, ui.Tab{Label: one.label, Href: c.here("span", one.value), Current: one == o.span})
	}
	var err error
	if o.series, err = s.Stats.Steps(ctx, c.owner().Number, o.span.minutes, o.span.per); err != nil {
		return err
	}
	now := s.Store.Now()
	if o.due, err = s.Store.JobsDue(ctx, c.owner(), now.Add(dueWithin), glanced, dueLook); err != nil {
		return err
	}
	if err := s.readFailed(c, o, now.Add(-failedWithin)); err != nil {
		return err
	}
	if o.counts, _, err = s.Manager.Counts(ctx, c.owner(), job.Query{}); err != nil {
		return err
	}
	o.newcomer = o.series.Total.Runs() == 0
	for _, n := range o.counts {
		o.newcomer = o.newcomer && n == 0
	}
	if c.part() == "overview" {
		return c.render(http.StatusOK, overviewPart(o))
	}
	return c.render(http.StatusOK, overviewPage(o))
}

func (s *Server) readFailed(c *call, o *overview, since time.Time) error {
	jobs, err := s.Store.JobsFailed(c.r.Context(), c.owner(), since, glanced)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		query := store.LogQuery{Job: &store.JobID{Number: j.Number}, ListQuery: store.ListQuery{Limit: 1}}
		logs, err := s.Store.LogList(c.r.Context(), c.owner(), query)
		if err != nil {
			return err
		}
		one := failedJob{Job: j}
		if len(logs) > 0 {
			one.why = lineOf(logs[0])
		}
		o.failed = append(o.failed, one)
	}
	return nil
}

// rate gives the share of runs that succeeded in percent; not a number when
// there were none.
func rate(p *stats.Point) float64 {
	if p.Runs() == 0 {
		return math.NaN()
	}
	return 100 * float64(p.Succeeded) / float64(p.Runs())
}

// percent writes a share so that one failure of many is never 100 %.
func percent(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v > 99.9 && v < 100:
		return "> 99.9 %"
	}
	return strconv.FormatFloat(math.Floor(v*10)/10, 'f', -1, 64) + " %"
}

// orDash gives milliseconds, or a dash for not a number.
func orDash(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return ms(v)
}

// within says what a 99th percentile means; nothing for not a number.
func within(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return "99 of 100 within " + ms(v)
}

// values takes one value of each point.
func (o *overview) values(of func(*stats.Point) float64) []float64 {
	values := make([]float64, len(o.series.Points))
	for i := range o.series.Points {
		values[i] = of(&o.series.Points[i])
	}
	return values
}

func (o *overview) plots() []ui.Plot {
	total, per := &o.series.Total, float64(o.span.per)
	from, during := ui.Relative(time.Time{}.Add(time.Duration(o.span.minutes)*time.Minute), time.Time{}), "in the last "+spanWords(o.span)
	most := 0.0
	runs := o.values(func(p *stats.Point) float64 { most = max(most, float64(p.Runs())/per); return float64(p.Runs()) / per })
	plots := []ui.Plot{
		{
			ID: "runs", Title: "Runs per minute", Bars: true,
			Series:  []ui.Series{{Name: "all", Values: runs}, {Name: "failed", Values: o.values(func(p *stats.Point) float64 { return float64(p.Failed) / per })}},
			Summary: fmt.Sprintf("%s %s, %s of them failed; at most %s a minute.", ui.Count(total.Runs()), during, ui.Count(total.Failed), strconv.FormatFloat(math.Round(most*10)/10, 'f', -1, 64)),
		},
		{
			ID: "rate", Title: "Success rate", Unit: "%", Top: 100, Series: []ui.Series{{Name: "succeeded", Values: o.values(rate)}},
			Summary: percent(rate(total)) + " of the runs " + during + " succeeded.",
		},
		{
			ID: "lateness", Title: "Lateness", Unit: "ms",
			Series:  []ui.Series{{Name: "p50", Values: o.values(func(p *stats.Point) float64 { return p.LatenessP50 })}, {Name: "p99", Values: o.values(func(p *stats.Point) float64 { return p.LatenessP99 })}},
			Summary: fmt.Sprintf("%s half of the runs began within %s and 99 of 100 within %s after they were due.", during, orDash(total.LatenessP50), orDash(total.LatenessP99)),
		},
		{
			ID: "durations", Title: "Attempt duration", Unit: "ms",
			Series:  []ui.Series{{Name: "p50", Values: o.values(func(p *stats.Point) float64 { return p.DurationP50 })}, {Name: "p99", Values: o.values(func(p *stats.Point) float64 { return p.DurationP99 })}},
			Summary: fmt.Sprintf("%s half of the attempts took up to %s and 99 of 100 up to %s.", during, orDash(total.DurationP50), orDash(total.DurationP99)),
		},
	}
	for i := range plots {
		plots[i].From, plots[i].To = from, "now"
	}
	return plots
}

func spanWords(s span) string {
	if s.minutes == 60 {
		return "hour"
	}
	return strconv.Itoa(s.minutes/60) + " hours"
}

// dueCount tells how many jobs are due within the hour.
func (o *overview) dueCount() string {
	text := ui.Count(int64(o.due.Count))
	if o.due.Partly {
		text = "at least " + text
	}
	return text
}
