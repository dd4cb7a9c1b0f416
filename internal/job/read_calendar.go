package job

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// Limits of the options of schedules.
const (
	MaxExcept  = 366 // dates or ranges
	MaxMaxRuns = 1_000_000_000
	// MaxDisableAfter is the greatest value of disable_after.
	MaxDisableAfter = 1000
)

// CatchUp is what a schedule does about missed points of its grid.
type CatchUp string

// The ways to catch up.
const (
	CatchUpOne  CatchUp = "one"  // one late run stands for all missed points
	CatchUpNone CatchUp = "none" // a run that can't start before the next point is discarded
	CatchUpAll  CatchUp = "all"  // each missed point has its own run, for the latest CatchUpMost
)

// CatchUpMost is how many missed points CatchUpAll makes up for.
const CatchUpMost = 1000

var catchUps = []string{string(CatchUpOne), string(CatchUpNone), string(CatchUpAll)}

func readExpiresIn(r *reader, f *Field, v rawjson.Value) { r.duration(f, v, 0, MaxAhead) }

func readCatchUp(r *reader, f *Field, v rawjson.Value) {
	switch CatchUp(rawjson.Text(v)) {
	case CatchUpOne, CatchUpNone, CatchUpAll:
		if v.Kind() == '"' {
			return
		}
	}
	r.refuse(Pointer(f.Name), "must be \"one\", \"none\" or \"all\"")
}

func readEndsAt(r *reader, f *Field, v rawjson.Value) {
	if at, ok := r.anyInstant(f, v); ok {
		r.timing.until = at
	}
}

func readMaxRuns(r *reader, f *Field, v rawjson.Value) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if v.Kind() != '0' || err != nil || n < 1 || n > MaxMaxRuns {
		r.refuse(Pointer(f.Name), "must be a whole number from 1 to 1,000,000,000")
	}
}

func readDisableAfter(r *reader, f *Field, v rawjson.Value) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if v.Kind() != '0' || err != nil || n < 1 || n > MaxDisableAfter {
		r.refuse(Pointer(f.Name), "must be a whole number from 1 to 1,000")
	}
}

// readJitter refuses a jitter that would move due times over others. The frequency
// was read before it.
func readJitter(r *reader, f *Field, v rawjson.Value) {
	jitter, ok := r.duration(f, v, 0, MaxAhead)
	if !ok || r.draft.Frequency == nil {
		return
	}
	if least := schedule.Distance(r.draft.Frequency, r.opts.Now); jitter >= least {
		r.refuse(Pointer(f.Name), "must be shorter than the smallest distance of two runs, which is %s", durationText(least))
		return
	}
	r.timing.jitter = jitter
}

// MaxOffset is how much later than the points of its grid a schedule's runs may be due.
const MaxOffset = 31 * 24 * time.Hour

func readOffset(r *reader, f *Field, v rawjson.Value) {
	r.timing.offset, _ = r.duration(f, v, 0, MaxOffset)
}

func readExcept(r *reader, f *Field, v rawjson.Value) {
	elements := r.list(f, v, 0, MaxExcept, "dates and ranges, as in [\"2026-12-25\", \"2026-12-24/2027-01-02\"]")
	ranges := make([]schedule.DateRange, 0, len(elements))
	for i, element := range elements {
		if element.Kind() != '"' {
			r.refuse(Pointer(f.Name, strconv.Itoa(i)), "must be a string, as in \"2026-12-25\" or \"2026-12-24/2027-01-02\"")
			continue
		}
		dates, err := schedule.ParseDateRange(rawjson.Text(element))
		if err != nil {
			r.refuse(Pointer(f.Name, strconv.Itoa(i)), "%s", err)
		}
		ranges = append(ranges, dates)
	}
	r.timing.except = schedule.NewDates(ranges)
}

// exceptOf returns a validated list of dates.
func exceptOf(v rawjson.Value) schedule.Dates {
	var ranges []schedule.DateRange
	for _, element := range rawjson.Elements(v) {
		if dates, err := schedule.ParseDateRange(rawjson.Text(element)); err == nil {
			ranges = append(ranges, dates)
		}
	}
	return schedule.NewDates(ranges)
}

// instantOf returns a validated time.
func instantOf(v rawjson.Value) time.Time {
	parse := func() (time.Time, error) { return schedule.ParseUnix(string(v)) }
	if v.Kind() == '"' {
		parse = func() (time.Time, error) { return schedule.ParseInstant(rawjson.Text(v)) }
	}
	at, _ := parse()
	return at
}

// setGrid sets the grid of a recurring draft and its first due time. It refuses a
// grid without a point that is still ahead.
func (r *reader) setGrid() {
	start, now := r.timing.start, r.opts.Now
	if _, ok := r.draft.Frequency.(*schedule.Cron); ok && (!r.timing.given || start.Before(now)) {
		start = now
	}
	r.draft.ScheduleID = r.opts.Schedule
	if r.draft.ScheduleID == uuid.Nil {
		r.draft.ScheduleID = NewID(now)
	}
	grid := &schedule.Grid{
		Frequency: r.draft.Frequency, Begin: start, Until: r.timing.until, Except: r.timing.except,
		Shift: schedule.ShiftOf(r.draft.ScheduleID, r.timing.jitter) + r.timing.offset,
	}
	due := grid.First(start)
	// A first time in the past is due now, unless the schedule has ended by then.
	if due.IsZero() || !grid.Until.IsZero() && now.After(grid.Until) {
		kept := *grid
		if due = r.replacing(&kept, start); due.IsZero() {
			r.refuseEmptyGrid(grid, start)
			return
		}
		grid = &kept
	}
	r.draft.Grid, r.draft.ScheduledAt = grid, due
}

func (r *reader) refuseEmptyGrid(grid *schedule.Grid, start time.Time) {
	if r.timing.wrong {
		return // the grid is not what was asked for
	}
	r.timing.wrong = true
	const none = "leaves no time at which the schedule runs"
	without := *grid
	without.Except = schedule.Dates{}
	if r.has("except") && !without.First(start).IsZero() {
		r.refuse("#/except", none)
		return
	}
	if r.has("ends_at") {
		r.refuse("#/ends_at", none+"; give a time after its first run, or leave it out")
		return
	}
	r.refuse("#/except", none)
}

// Grid returns the due times of a schedule, and its spec. It returns nil if the
// args have no frequency.
func (s *Schedule) Grid() (*schedule.Grid, Spec) {
	spec := ReadSpec(s.Args)
	frequency, err := spec.Frequency()
	if err != nil || frequency == nil {
		return nil, spec
	}
	return &schedule.Grid{
		Frequency: frequency, Begin: s.FirstDue, Until: spec.EndsAt, Except: spec.Except,
		Shift: schedule.ShiftOf(s.ID, spec.Jitter) + spec.Offset,
	}, spec
}

// RunsUpTo returns how many runs the schedule that the request creates can have,
// at most limit.
func (d *Draft) RunsUpTo(limit int) int {
	if runs := d.Spec.MaxRuns; runs > 0 && runs < int64(limit) {
		return int(runs)
	}
	return limit
}
