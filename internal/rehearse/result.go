package rehearse

import (
	"context"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// result returns what was rehearsed.
func (r *rehearsal) result(ctx context.Context) (*Result, error) {
	end := r.To
	if r.cut != nil {
		end = r.cut.At
	}
	r.now = end
	r.busy.flush()
	result := &Result{From: r.From, To: r.To, Cut: r.cut, Busiest: r.busy.top, Runs: r.runs}
	for _, a := range r.actors {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if a.line != nil {
			r.held(a)
		}
		if a.out.Ends != nil && a.out.Ends.At.After(end) {
			a.out.Ends = nil
		}
		a.out.Clock = a.clockChanges(r.From, end)
		result.Schedules = append(result.Schedules, *a.out)
	}
	result.Findings = findings(r, result, end)
	return result, nil
}

// clockChanges returns the changes of the clock that concern the schedule while it lives.
func (a *actor) clockChanges(from, to time.Time) []ClockChange {
	if a.course == nil || a.out.Disabled {
		return nil
	}
	if a.out.Ends != nil && a.out.Ends.At.Before(to) {
		to = a.out.Ends.At
	}
	var changes []ClockChange
	for _, change := range a.course.Grid().ClockChanges(from, to, maxClock) {
		kind := "gap"
		if change.Double {
			kind = "double"
		}
		changes = append(changes, ClockChange{change.At, kind})
	}
	return changes
}

// Append appends the result as JSON: the content of "data" of the API's response.
func (r *Result) Append(b []byte) []byte {
	b = appendTime(append(b, `{"from":`...), r.From)
	b = appendTime(append(b, `,"to":`...), r.To)
	b = append(b, `,"cut":`...)
	b = r.Cut.append(b)
	b = append(b, `,"schedules":[`...)
	for i := range r.Schedules {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.Schedules[i].Append(b)
	}
	b = append(b, `],"busiest":[`...)
	for i, m := range r.Busiest {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTime(append(b, `{"at":`...), m.At)
		b = append(strconv.AppendInt(append(b, `,"runs":`...), m.Runs, 10), '}')
	}
	return append(AppendFindings(append(b, `],"findings":`...), r.Findings), '}')
}

func (c *Cut) append(b []byte) []byte {
	if c == nil {
		return append(b, "null"...)
	}
	b = appendTime(append(b, `{"at":`...), c.At)
	return append(rawjson.AppendText(append(b, `,"reason":`...), c.Reason), '}')
}

// AppendFindings appends findings as a JSON array.
func AppendFindings(b []byte, findings []Finding) []byte {
	b = append(b, '[')
	for i, f := range findings {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(append(b, `{"code":`...), f.Code)
		b = appendText(append(b, `,"key":`...), f.Key)
		b = appendTime(append(b, `,"at":`...), f.At)
		b = append(rawjson.AppendText(append(b, `,"message":`...), f.Message), '}')
	}
	return append(b, ']')
}

// Append appends what one schedule does as JSON.
func (o *Outcome) Append(b []byte) []byte {
	b = appendText(append(b, `{"key":`...), o.Key)
	var id *string
	if o.ID != "" {
		id = &o.ID
	}
	b = appendText(append(b, `,"id":`...), id)
	b = strconv.AppendBool(append(b, `,"disabled":`...), o.Disabled)
	for _, count := range []struct {
		name string
		n    int64
	}{{"runs", o.Runs}, {"failed", o.Failed}, {"expired", o.Expired}, {"late", o.Late}, {"skipped", o.Skipped}} {
		b = append(append(append(b, `,"`...), count.name...), `":`...)
		b = strconv.AppendInt(b, count.n, 10)
	}
	b = append(b, `,"first":[`...)
	for i, at := range o.First {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTime(b, at)
	}
	b = append(b, `],"clock":[`...)
	for i, change := range o.Clock {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTime(append(b, `{"at":`...), change.At)
		b = append(rawjson.AppendText(append(b, `,"kind":`...), change.Kind), '}')
	}
	b = strconv.AppendInt(append(b, `],"overlaps":`...), o.Overlaps, 10)
	b = strconv.AppendInt(append(b, `,"limited":{"count":`...), o.Limited.Count, 10)
	b = strconv.AppendInt(append(b, `,"longest_ms":`...), o.Limited.Longest.Milliseconds(), 10)
	b = append(b, `},"ends":`...)
	if o.Ends == nil {
		return append(b, "null}"...)
	}
	b = appendTime(append(b, `{"at":`...), o.Ends.At)
	return append(rawjson.AppendText(append(b, `,"reason":`...), string(o.Ends.Reason)), "}}"...)
}

func appendText(b []byte, text *string) []byte {
	if text == nil {
		return append(b, "null"...)
	}
	return rawjson.AppendText(b, *text)
}

// appendTime appends a time, or null for the zero time.
func appendTime(b []byte, at time.Time) []byte {
	if at.IsZero() {
		return append(b, "null"...)
	}
	return append(append(append(b, '"'), job.FormatTime(at)...), '"')
}
