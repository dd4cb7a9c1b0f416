package rehearse

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Comparison is how schedules change: each before and after.
type Comparison struct {
	From, To time.Time
	Cut      *Cut // of either result; they are compared up to there
	Changes  []Change
	Findings []Finding // of the result after the change
}

// Pair is a schedule before and after a change; an index of the entries of a plan, or
// -1 if it is not there.
type Pair struct {
	Key           *string
	Result        string // "created", "changed", "unchanged" or "removed"
	Before, After int
}

// Change is how the runs of one schedule change.
type Change struct {
	Key           *string
	Result        string
	Before, After *Outcome // nil if it does not exist then
	Difference
}

// Difference is how due times differ.
type Difference struct {
	// First is the first run that differs; nil if none does.
	First *FirstDifference
	// Added, Dropped and Moved are how many runs there are more, less, or at other
	// times.
	Added, Dropped, Moved int64
}

// FirstDifference is a run that differs. A time is zero if there is no such run.
type FirstDifference struct{ Before, After time.Time }

// Compare rehearses two plans for the same time and compares their entries in pairs.
func Compare(ctx context.Context, before, after *Plan, pairs []Pair) (*Comparison, error) {
	was, wasDue, err := dueTimes(ctx, before)
	if err != nil {
		return nil, err
	}
	is, isDue, err := dueTimes(ctx, after)
	if err != nil {
		return nil, err
	}
	c := &Comparison{From: is.From, To: is.To, Cut: is.Cut, Findings: is.Findings}
	if was.Cut != nil && (c.Cut == nil || was.Cut.At.Before(c.Cut.At)) {
		c.Cut = was.Cut
	}
	end := c.To
	if c.Cut != nil {
		end = c.Cut.At
	}
	for _, pair := range pairs {
		change := Change{Key: pair.Key, Result: pair.Result}
		var a, b []int64
		if pair.Before >= 0 {
			change.Before, a = &was.Schedules[pair.Before], wasDue[pair.Before]
		}
		if pair.After >= 0 {
			change.After, b = &is.Schedules[pair.After], isDue[pair.After]
		}
		change.Difference = differ(upTo(a, end), upTo(b, end))
		c.Changes = append(c.Changes, change)
	}
	return c, nil
}

// dueTimes rehearses a plan and returns the due times of each entry's runs too, in
// microseconds since 1970.
func dueTimes(ctx context.Context, p *Plan) (*Result, [][]int64, error) {
	due := make([][]int64, len(p.Entries))
	p.Each = func(s Start) { due[s.Entry] = append(due[s.Entry], s.Due.UnixMicro()) }
	r, err := Run(ctx, p)
	return r, due, err
}

// upTo returns the times before an end, in order.
func upTo(due []int64, end time.Time) []int64 {
	slices.Sort(due)
	i, _ := slices.BinarySearch(due, end.UnixMicro())
	return due[:i]
}

// differ compares two lists of times in order.
func differ(a, b []int64) (d Difference) {
	first := func() *FirstDifference {
		f := &FirstDifference{}
		if len(a) > 0 {
			f.Before = time.UnixMicro(a[0]).UTC()
		}
		if len(b) > 0 {
			f.After = time.UnixMicro(b[0]).UTC()
		}
		return f
	}
	for len(a) > 0 || len(b) > 0 {
		if len(a) > 0 && len(b) > 0 && a[0] == b[0] {
			a, b = a[1:], b[1:]
			continue
		}
		if d.First == nil {
			d.First = first()
		}
		if len(b) == 0 || len(a) > 0 && a[0] < b[0] {
			d.Dropped++
			a = a[1:]
		} else {
			d.Added++
			b = b[1:]
		}
	}
	d.Moved = min(d.Added, d.Dropped)
	d.Added, d.Dropped = d.Added-d.Moved, d.Dropped-d.Moved
	return d
}

// Append appends the comparison as JSON.
func (c *Comparison) Append(b []byte) []byte {
	b = appendTime(append(b, `{"from":`...), c.From)
	b = appendTime(append(b, `,"to":`...), c.To)
	b = c.Cut.append(append(b, `,"cut":`...))
	b = append(b, `,"schedules":[`...)
	for i := range c.Changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.Changes[i].append(b)
	}
	return append(AppendFindings(append(b, `],"findings":`...), c.Findings), '}')
}

func (c *Change) append(b []byte) []byte {
	b = appendText(append(b, `{"key":`...), c.Key)
	b = rawjson.AppendText(append(b, `,"result":`...), c.Result)
	for _, side := range []struct {
		name string
		of   *Outcome
	}{{"before", c.Before}, {"after", c.After}} {
		b = append(append(append(b, `,"`...), side.name...), `":`...)
		if side.of == nil {
			b = append(b, "null"...)
		} else {
			b = side.of.Append(b)
		}
	}
	b = append(b, `,"difference":{"first":`...)
	if c.First == nil {
		b = append(b, "null"...)
	} else {
		b = appendTime(append(b, `{"before":`...), c.First.Before)
		b = append(appendTime(append(b, `,"after":`...), c.First.After), '}')
	}
	b = strconv.AppendInt(append(b, `,"added":`...), c.Added, 10)
	b = strconv.AppendInt(append(b, `,"dropped":`...), c.Dropped, 10)
	return append(strconv.AppendInt(append(b, `,"moved":`...), c.Moved, 10), "}}"...)
}
