package job

import (
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// ReadSchedule reads a request that describes a schedule completely: a create
// request that recurs, without a key. The schedule has the key of opts.HeaderKey. What
// equals the schedule that the request replaces is right.
func ReadSchedule(body rawjson.Value, opts ReadOptions) (*Draft, error) {
	r, err := newReader(body, "must be a JSON object with the fields of a schedule", opts)
	if err != nil {
		return nil, err
	}
	members := slices.DeleteFunc(rawjson.Members(body),
		func(m rawjson.Member) bool { return byName[m.Name] != nil && rawjson.IsNull(m.Value) })
	replaced, err := r.fillReplaced(members)
	if err != nil {
		return nil, err
	}
	r.take(members, scheduleFields)
	if !r.has("repeat_every") && !r.has("cron") {
		r.refuse("#/repeat_every", "must be given, or cron must: they say how often the schedule runs")
		r.refuse("#/cron", "must be given, or repeat_every must")
	}
	draft, err := r.finish(members)
	if err != nil && opts.Replaces != nil {
		if same := r.unchanged(opts.Replaces(), members); same != nil {
			return same, nil
		}
	}
	if draft != nil && replaced != nil && draft.Existing == nil {
		draft.Existing = replaced
	}
	return draft, err
}

// fillReplaced puts what is hidden in the schedule that the request replaces in place
// of the text that it is shown as. It returns that schedule's revision if it has
// replaced any.
func (r *reader) fillReplaced(members []rawjson.Member) (*Existing, error) {
	shows := showsRedacted(members)
	if r.opts.Replaces == nil || !shows && valueIn(members, redactField) == nil {
		return nil, nil
	}
	s := r.opts.Replaces()
	if s == nil || s.Hidden.IsZero() {
		return nil, nil
	}
	if err := r.hiddenIn(&s.Hidden); err != nil {
		if shows {
			return nil, err
		}
		return nil, nil // the new values replace what can't be read
	}
	if !shows {
		return nil, nil
	}
	r.opened.fill(members, s.Args)
	r.uncovers(valueIn(members, redactField), members)
	return &Existing{s.ID, s.Revision}, nil
}

// uncovers refuses a request that leaves what is hidden and does not hide it.
func (r *reader) uncovers(redact rawjson.Value, members []rawjson.Member) {
	p := &patch{given: map[string]bool{redactField: true}, hidden: r.before}
	fields := r.fields
	r.fields = map[string]rawjson.Value{redactField: redact}
	for _, m := range members {
		r.fields[m.Name] = m.Value
	}
	p.checkUncovered(r)
	r.fields = fields
}

// unchanged returns the draft of a schedule as it is stored, if that is what a request
// with these members describes; else nil. Such a request changes nothing, so it is
// right although the schedule's end has passed, or a limit that it names is gone.
func (of *reader) unchanged(s *Schedule, members []rawjson.Member) *Draft {
	if s == nil {
		return nil
	}
	r := &reader{opts: of.opts, fields: map[string]rawjson.Value{}, before: of.before, opened: of.opened}
	for _, m := range members {
		switch {
		case !slices.Contains(scheduleFields, m.Name), byName[m.Name].Column && m.Value.Kind() != '"',
			m.Name == "method" && m.Value.Kind() != '"':
			return nil
		}
		r.fields[m.Name] = m.Value
	}
	if err := r.setArgs(members); err != nil {
		return nil
	}
	d := &Draft{
		Key: s.Key, Name: r.column("name"), Description: r.column("description"), Args: r.draft.Args, Hidden: r.draft.Hidden,
		ScheduleID: s.ID, Existing: &Existing{s.ID, s.Revision},
	}
	if len((&patch{args: s.Args, hidden: s.Hidden, name: s.Name, description: s.Description}).difference(d)) > 0 {
		return nil
	}
	d.Grid, d.Spec = s.Grid()
	return d
}

// column returns the text of a field that is no part of args; nil if it is not given.
func (r *reader) column(name string) *string {
	v, given := r.fields[name]
	if !given {
		return nil
	}
	text := rawjson.Text(v)
	return &text
}

// WithTimeOf returns the args of a schedule with the first time of a run's args.
func WithTimeOf(args, run rawjson.Value) rawjson.Value {
	changes := make([]rawjson.Member, 0, len(firstTimes))
	for _, name := range firstTimes {
		changes = append(changes, rawjson.Member{Name: name, Value: rawjson.Get(run, name)})
	}
	kept, filled := unfilled(args)
	return rawjson.Object(append(rawjson.Members(Merge(kept, changes)), filled...))
}

var scheduleFields = slices.DeleteFunc(namesIn(ForSchedule), func(name string) bool { return name == keyField || name == requestField })

// Replace returns the edit that makes a schedule what a draft describes. If the
// draft has the same times, the grid stays. It does not change the draft. The error
// is a fault: the schedule's own jitter moves the draft's only due time past its end,
// or the draft was read for another revision of a schedule.
func Replace(s *Schedule, d *Draft) (*Edit, error) {
	if !d.fits(s) {
		return nil, ErrHolderChanged()
	}
	p := &patch{args: s.Args, hidden: s.Hidden, name: s.Name, description: s.Description}
	old := ReadSpec(s.Args)
	moves := !sameFrequency(&old, &d.Spec) || !SameFirstTime(s.Args, d.Args)
	if moves {
		var err error
		if d, err = d.shiftedFor(s); err != nil {
			return nil, err
		}
	}
	e := &Edit{Draft: d, Base: s.Revision, Changes: p.difference(d)}
	to := s.FirstDue
	if moves {
		to = d.Grid.Begin
	}
	e.move(moves, s.FirstDue, to)
	return e, nil
}

// Existing is a revision of a schedule.
type Existing struct {
	ID       uuid.UUID
	Revision int64
}

// fits reports whether the draft can be what a schedule becomes or, if s is nil, a new
// one.
func (d *Draft) fits(s *Schedule) bool {
	return d.Existing == nil || s != nil && s.ID == d.Existing.ID && s.Revision == d.Existing.Revision
}

// Creates returns a fault if the draft can't become a new schedule, because it was
// read for an existing one.
func (d *Draft) Creates() error {
	if d.fits(nil) {
		return nil
	}
	return ErrHolderChanged()
}

// ErrHolderChanged returns the fault for a schedule that changed between the reading
// of a request that depends on it and its transaction.
func ErrHolderChanged() error {
	return fault.Busy(errors.New("what holds the schedule's key has changed"))
}

// shiftedFor returns the draft with the shift of an existing schedule. A draft that
// was read for a key has the shift of an id of its own, because what holds the key
// is known only in the transaction.
func (d *Draft) shiftedFor(s *Schedule) (*Draft, error) {
	if d.Grid == nil || d.ScheduleID == s.ID {
		return d, nil
	}
	shifted, grid := *d, *d.Grid
	grid.Shift = schedule.ShiftOf(s.ID, d.Spec.Jitter) + d.Spec.Offset
	shifted.Grid, shifted.ScheduleID, shifted.ScheduledAt = &grid, s.ID, grid.First(grid.Begin)
	if shifted.ScheduledAt.IsZero() {
		return nil, fault.New(fault.Invalid, "with its jitter, the schedule "+s.ID.String()+
			" has no due time before ends_at; give a later ends_at")
	}
	return &shifted, nil
}

// replacing sets, in a grid that would be empty for a new schedule, the shift of the
// schedule that the request replaces and, if the request has the same times, its
// beginning. It returns the next due time; zero if there is none, or no such schedule.
func (r *reader) replacing(grid *schedule.Grid, start time.Time) time.Time {
	if r.opts.Replaces == nil || !grid.Until.IsZero() && r.opts.Now.After(grid.Until) {
		return time.Time{}
	}
	s := r.opts.Replaces()
	if s == nil {
		return time.Time{}
	}
	grid.Shift = schedule.ShiftOf(s.ID, r.timing.jitter) + r.timing.offset
	due := grid.First(start)
	old, asked := ReadSpec(s.Args), specOf(r.fields)
	var times []rawjson.Member
	for _, name := range firstTimes {
		if v, ok := r.fields[name]; ok {
			times = append(times, rawjson.Member{Name: name, Value: v})
		}
	}
	if sameFrequency(&old, &asked) && SameFirstTime(s.Args, rawjson.Object(times)) {
		grid.Begin = s.FirstDue
		due = grid.Next(time.Time{}, r.opts.Now.Add(-1))
	}
	if !due.IsZero() {
		r.draft.ScheduleID, r.draft.Existing = s.ID, &Existing{s.ID, s.Revision}
	}
	return due
}

// firstTimes are the fields that say when a job runs first.
var firstTimes = []string{"schedule_in", "scheduled_at"}

// SameFirstTime reports whether two requests say the same about when a job runs
// first, in whatever form.
func SameFirstTime(a, b rawjson.Value) bool {
	for _, name := range firstTimes {
		if (rawjson.Get(a, name) == nil) != (rawjson.Get(b, name) == nil) {
			return false
		}
	}
	if in := rawjson.Get(a, "schedule_in"); in != nil {
		return DurationOf(in) == DurationOf(rawjson.Get(b, "schedule_in"))
	}
	at := rawjson.Get(a, "scheduled_at")
	return at == nil || instantOf(at).Equal(instantOf(rawjson.Get(b, "scheduled_at")))
}

func sameFrequency(a, b *Spec) bool {
	if a.Cron != b.Cron || a.Timezone != b.Timezone || (a.RepeatEvery == nil) != (b.RepeatEvery == nil) {
		return false
	}
	return a.RepeatEvery == nil || DurationOf(a.RepeatEvery) == DurationOf(b.RepeatEvery)
}
