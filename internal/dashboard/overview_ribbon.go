package dashboard

import (
	"fmt"
	"math"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/stats"
)

const (
	// queueScanned is how many queue items are read at most for each column ahead, and
	// pendingScanned how many of the account's pending jobs if these are too few.
	queueScanned, pendingScanned = 400, 5000
	// schedulesForeseen is how many schedules are read to find their runs ahead.
	schedulesForeseen = 200
)

// readRibbon sets the ribbon of the overview: the attempts of a period, and what is
// planned behind it.
func (s *Server) readRibbon(c *call, o *view.Overview, series *stats.Series, d *charted) error {
	past, step := len(series.Points), time.Duration(d.per)*time.Minute
	n := past + d.ahead
	r := &ui.Ribbon{
		ID: "ribbon", Title: ui.Capital(d.words), Start: series.Points[0].Minute, Step: step,
		Ran: gaps(n), Failed: gaps(n), Planned: gaps(n),
		Zoom: c.here("span", "", "from", "", "to", ""), Open: c.href("/attempts?outcome=failed"),
	}
	for i := range series.Points {
		p := &series.Points[i]
		r.Ran[i], r.Failed[i] = float64(p.Runs()), float64(p.Failed)
	}
	r.Summary = fmt.Sprintf("%s, %s of them failed.", ui.Plural(int(series.Total.Runs()), "attempt", "attempts"),
		ui.Count(series.Total.Failed))
	r.Peak = peak(series, d, ui.From(c.r.Context()).Now)
	if o.Ribbon = r; d.ahead == 0 {
		return nil
	}
	r.Now = d.to
	ahead := &view.Ahead{Bounds: []time.Time{d.to.In(ui.From(c.r.Context()).Now.Location())}}
	first := past // the column that contains now, unless it has just ended
	for i := past - 1; i < n; i++ {
		if end := r.Start.Add(step * time.Duration(i+1)); end.After(d.to) {
			ahead.Bounds, first = append(ahead.Bounds, end), min(first, i)
		}
	}
	var err error
	if ahead.Steps, err = s.Service.JobsAhead(c.r.Context(), c.owner(), ahead.Bounds, view.AheadNamed, queueScanned,
		pendingScanned); err != nil {
		return err
	}
	if ahead.Runs, ahead.RunsPartly, err = s.Service.RunsAhead(c.r.Context(), c.owner(), ahead.Bounds, schedulesForeseen); err != nil {
		return err
	}
	r.Notes = make([]string, n)
	for i := range ahead.Steps {
		r.Planned[first+i], r.Notes[first+i] = float64(ahead.Planned(i)), ahead.Note(i)
	}
	r.Summary += " " + ahead.Summary()
	return nil
}

// peak describes the column with the most attempts; "" if there were none.
func peak(series *stats.Series, d *charted, now time.Time) string {
	most := &series.Points[0]
	for i := range series.Points {
		if p := &series.Points[i]; p.Runs() > most.Runs() {
			most = p
		}
	}
	if most.Runs() == 0 {
		return ""
	}
	return fmt.Sprintf("peak %s in %d min at %s", ui.Count(most.Runs()), d.per, ui.Clock(now, most.Minute))
}

// gaps returns n columns without values.
func gaps(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}

// ahead returns the columns behind the past ones in which something is planned as rows of
// a table, the latest first.
func ahead(r *ui.Ribbon, past int) (rows []view.Value) {
	for i := len(r.Planned) - 1; i >= past-1; i-- {
		if n := r.Planned[i]; n > 0 { // NaN is not
			from := r.Start.Add(r.Step * time.Duration(i))
			if from.Before(r.Now) {
				from = r.Now
			}
			rows = append(rows, view.Value{From: from, To: r.Start.Add(r.Step * time.Duration(i+1)), Planned: ui.Count(int64(n)),
				Note: r.Notes[i]})
		}
	}
	return rows
}
