package dashboard

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/stats"
)

// chartPoints is how many points of the past a chart has at most.
const chartPoints = 168

// period is a time of the past that the overview shows, in points of per minutes, and
// how many points of the future follow it.
type period struct {
	value, label, words string
	minutes, per, ahead int
}

var periods = []period{
	{"1h", "Hour", "last hour", 60, 1, 15}, {"6h", "6 hours", "last 6 hours", 360, 5, 18}, {"24h", "Day", "last 24 hours", 1440, 10, 36},
	{"3d", "3 days", "last 3 days", 3 * 1440, 30, 36}, {"7d", "7 days", "last 7 days", stats.MaxRange, 60, 42},
}

// usual returns the period that is shown unless the address names another: a day, or the
// shortest one that an account younger than that fits into.
func usual(age time.Duration) period {
	const day = 2
	for _, p := range periods[:day] {
		if age < time.Duration(p.minutes)*time.Minute {
			return p
		}
	}
	return periods[day]
}

// steps are the lengths, in minutes, that a point of a selected interval can have.
var steps = []int{1, 2, 5, 10, 15, 20, 30, 60}

// charted is what the charts show.
type charted struct {
	period
	from, to time.Time
	selected bool // an interval, not one of the periods up to now
}

// charted reads from the address what the charts show: the parameters from and to are
// an interval, and span names a period. Anything else is the usual one.
func (c *call) charted(now time.Time) charted {
	from, err := job.ReadInstant(c.param("from"))
	to, err2 := job.ReadInstant(c.param("to"))
	if c.param("from") != "" && err == nil && err2 == nil && from.Before(to) && to.After(now.Add(-stats.MaxRange*time.Minute)) &&
		from.Before(now) {
		d := charted{from: from, to: to, selected: true}
		if d.to.After(now) {
			d.to = now
		}
		if least := d.to.Add(-5 * time.Minute); d.from.After(least) {
			d.from = least
		}
		if earliest := d.to.Add(-stats.MaxRange * time.Minute); d.from.Before(earliest) {
			d.from = earliest
		}
		d.minutes = int(d.to.Sub(d.from) / time.Minute)
		i := slices.IndexFunc(steps, func(per int) bool { return d.minutes/per <= chartPoints })
		if i < 0 {
			i = len(steps) - 1
		}
		if d.per, d.words = steps[i], "selected time"; d.to.Equal(now) {
			d.ahead = d.minutes / d.per / 4
		}
		return d
	}
	d := charted{period: usual(now.Sub(c.account().CreatedAt)), to: now}
	for _, p := range periods {
		if p.value == c.param("span") {
			d.period = p
		}
	}
	d.from = now.Add(-time.Duration(d.minutes-d.per) * time.Minute)
	return d
}

// asTable reports whether the values of the charts are shown as a table.
func asTable(c *call) bool { return c.param("view") == "table" }

// readCharts reads the figures and charts of the period in the address.
func (s *Server) readCharts(c *call, o *view.Overview) (*stats.Series, error) {
	d := c.charted(s.Service.Now())
	series, err := s.Stats.Range(c.r.Context(), c.owner().Number, d.from, d.to, d.per)
	if err != nil {
		return nil, err
	}
	for _, p := range periods {
		o.Tabs = append(o.Tabs, ui.Tab{Label: p.label, Href: c.here("span", p.value, "from", "", "to", ""),
			Current: !d.selected && p.value == d.value})
	}
	if d.selected {
		o.Tabs = append(o.Tabs, ui.Tab{Label: view.Interval(ui.From(c.r.Context()).Now, d.from, d.to), Href: c.here(), Current: true})
	}
	o.Figures = figures(&series.Total)
	if err := s.readRibbon(c, o, series, &d); err != nil {
		return nil, err
	}
	if o.AsTable = asTable(c); o.AsTable {
		o.OtherView = c.here("view", "")
		o.Values = append(ahead(o.Ribbon, len(series.Points)), values(c, series, d)...)
		return series, nil
	}
	o.OtherView = c.here("view", "table")
	o.Plots = plots(series, &d)
	for i := range o.Plots {
		o.Plots[i].Zoom, o.Plots[i].Open = o.Ribbon.Zoom, o.Ribbon.Open
	}
	return series, nil
}

// values returns the points with attempts as rows of a table, the latest first.
func values(c *call, series *stats.Series, d charted) []view.Value {
	var rows []view.Value
	for i := range slices.Backward(series.Points) {
		p := &series.Points[i]
		if p.Runs() == 0 {
			continue
		}
		end := p.Minute.Add(time.Duration(d.per) * time.Minute)
		row := view.Value{
			From: p.Minute, To: end, Attempts: p.Runs(), Failed: p.Failed, FailureRate: failurePercent(failureRate(p)),
			Lateness: [2]string{orDash(p.LatenessP50), orDash(p.LatenessP99)},
			Duration: [2]string{orDash(p.DurationP50), orDash(p.DurationP99)},
		}
		if p.Failed > 0 {
			row.Failures = c.href("/attempts?%s", url.Values{"outcome": {"failed"}, "since": {job.FormatTime(p.Minute)},
				"until": {job.FormatTime(end)}}.Encode())
		}
		rows = append(rows, row)
	}
	return rows
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

// plots returns the course of lateness and duration in a period.
func plots(series *stats.Series, d *charted) []ui.Plot {
	values := func(of func(*stats.Point) float64) []float64 {
		values := make([]float64, len(series.Points))
		for i := range series.Points {
			values[i] = of(&series.Points[i])
		}
		return values
	}
	line := func(name string, of func(*stats.Point) float64) ui.Series {
		return ui.Series{Name: name, Values: values(of)}
	}
	total, during := &series.Total, "in the "+d.words
	plots := []ui.Plot{
		{
			ID: "lateness", Title: "Lateness",
			Series: []ui.Series{
				line("p50", func(p *stats.Point) float64 { return p.LatenessP50 }),
				line("p99", func(p *stats.Point) float64 { return p.LatenessP99 }),
			},
			Summary: fmt.Sprintf("%s: p50 %s, p99 %s after the due time.", during, orDash(total.LatenessP50), orDash(total.LatenessP99)),
		},
		{
			ID: "durations", Title: "Attempt duration",
			Series: []ui.Series{
				line("p50", func(p *stats.Point) float64 { return p.DurationP50 }),
				line("p99", func(p *stats.Point) float64 { return p.DurationP99 }),
			},
			Summary: fmt.Sprintf("%s: p50 %s, p99 %s.", during, orDash(total.DurationP50), orDash(total.DurationP99)),
		},
	}
	for i := range plots {
		plots[i].Start, plots[i].Step = series.Points[0].Minute, time.Duration(d.per)*time.Minute
	}
	return plots
}
