package job

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Edit is a change of a job or a schedule that was read and checked: what the
// record is afterwards.
type Edit struct {
	// Draft is the record as if it had been created so. Its ScheduledAt is valid only
	// if Moves is set; DueAt is up to the transaction.
	*Draft
	// Base is the revision of the record that the edit was computed for. The edit
	// must not be applied to another.
	Base int64
	// Moves is set for new times. The job is due at ScheduledAt, or the schedule's
	// grid begins there.
	Moves bool
	// Document is the new Document of a schedule; "" if it stays.
	Document string
	// Changes is the difference; an edit without one changes nothing.
	Changes []FieldChange
}

// TakeOver makes a schedule belong to the owner of a document.
func (e *Edit) TakeOver(s *Schedule, document string) {
	if document == "" || s.Document == document {
		return
	}
	e.Document = document
	change := FieldChange{Path: "/owner", To: rawjson.Quote(document)}
	if s.Document != "" {
		change.From = rawjson.Quote(s.Document)
	}
	e.Changes = append(e.Changes, change)
}

// ReadJobEdit reads a merge patch (RFC 7396) of a job. New times count from
// opts.Now. Of a run of a schedule, only a few fields can be changed, and its new
// time is exact: its schedule's grid does not matter. The error is a fault that lists
// every problem.
func ReadJobEdit(j *Job, body rawjson.Value, opts ReadOptions) (*Edit, error) {
	p := &patch{
		args: j.Args, hidden: j.Hidden, name: j.Name, description: j.Description, key: j.Key,
		schedule: j.ScheduleID, places: EditJob, opts: opts, given: map[string]bool{},
	}
	if j.ScheduleID != uuid.Nil {
		p.places = EditRun
	}
	draft, err := p.read(body)
	if err != nil {
		return nil, err
	}
	e := &Edit{Draft: draft, Base: j.Revision, Changes: p.difference(draft)}
	e.move(p.gives(firstTimes...), j.ScheduledAt, draft.ScheduledAt)
	return e, nil
}

// ReadScheduleEdit reads a merge patch (RFC 7396) of a schedule. A new frequency
// or first time begins a new grid; a new frequency without a first time begins it
// at the old first time if that is ahead (for a new cron, only if it was asked for),
// else at opts.Now.
func ReadScheduleEdit(s *Schedule, body rawjson.Value, opts ReadOptions) (*Edit, error) {
	opts.Schedule = s.ID
	p := &patch{
		args: s.Args, hidden: s.Hidden, name: s.Name, description: s.Description, key: s.Key,
		places: EditSchedule, firstTime: s.firstTime(opts.Now), opts: opts, given: map[string]bool{},
	}
	draft, err := p.read(body)
	if err != nil {
		return nil, err
	}
	old := ReadSpec(s.Args)
	e := &Edit{Draft: draft, Base: s.Revision, Changes: p.difference(draft)}
	if p.gives(firstTimes...) || !sameFrequency(&old, &draft.Spec) {
		e.move(true, s.FirstDue, draft.Grid.Begin)
	}
	return e, nil
}

// move notes new times. If the request's text is the same, the difference shows
// the times instead.
func (e *Edit) move(moves bool, from, to time.Time) {
	if !moves || from.Equal(to) && len(e.Changes) == 0 {
		return
	}
	e.Moves = true
	if !slices.ContainsFunc(e.Changes, func(c FieldChange) bool { return IsTiming(strings.TrimPrefix(c.Path, "/")) }) {
		e.Changes = append(e.Changes, FieldChange{
			Path: "/scheduled_at", From: rawjson.Quote(FormatTime(from)), To: rawjson.Quote(FormatTime(to)),
		})
	}
}

// patch reads a merge patch of a record.
type patch struct {
	args                   rawjson.Value
	hidden                 Hidden // of args
	name, description, key *string
	schedule               uuid.UUID // of a run
	places                 Places
	firstTime              time.Time // of a schedule
	opts                   ReadOptions
	creates                bool            // the record afterwards is a new one, so the limits and secrets that it names must be there
	given                  map[string]bool // the fields of the patch that are known; true unless null
}

// gives reports whether the patch has a value for one of the fields.
func (p *patch) gives(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return p.given[name] })
}

// read returns the record after the patch. It checks the patched record like a
// create request. Problems that the record had before, in fields that the patch
// does not have, are ignored.
func (p *patch) read(body rawjson.Value) (*Draft, error) {
	p.opts.HeaderKey = p.key
	r, err := newReader(body, "must be a JSON object with the fields to change", p.opts)
	if err != nil {
		return nil, err
	}
	r.run = p.schedule != uuid.Nil
	if err := r.hiddenIn(&p.hidden); err != nil {
		return nil, err
	}
	sent := r.opened.reveal(p.args)
	changes := r.opened.fill(p.take(r, rawjson.Members(body)), p.args)
	kept, _ := unfilled(sent) // what is filled in comes last again
	patched := p.whole(Merge(kept, slices.DeleteFunc(slices.Clone(changes), isColumn)), changes)
	for _, m := range patched {
		if !rawjson.IsNull(m.Value) && (p.given[m.Name] || !slices.Contains(firstTimes, m.Name)) {
			r.fields[m.Name] = m.Value
		}
	}
	for _, c := range changes {
		if f := byName[c.Name]; p.given[c.Name] && f.Needs != "" && !r.has(c.Name) {
			r.refuse(Pointer(c.Name), "works only with %s; give %s too, or leave it out", f.Needs, f.Needs)
		}
	}
	p.checkUncovered(r)
	p.checkSize(r, kept, patched)
	p.setStart(r)
	if p.places&EditSchedule != 0 && !r.has("repeat_every") && !r.has("cron") {
		for _, name := range []string{"repeat_every", "cron"} {
			if _, removed := p.given[name]; removed {
				r.refuse(Pointer(name), "can't be removed: a schedule needs repeat_every or cron")
			}
		}
	}
	draft, err := r.finish(patched)
	if err != nil {
		err = p.relevant(err, sent)
	}
	if err != nil {
		return nil, err
	}
	if draft == nil || draft.Args == nil { // its only problems are not relevant
		draft = &r.draft
		if err := r.setArgs(patched); err != nil {
			return nil, err
		}
	}
	return draft, nil
}

// take returns the members of the patch that can be given, and refuses the others.
// null means absent: where there is nothing to remove, any field can be null.
func (p *patch) take(r *reader, members []rawjson.Member) []rawjson.Member {
	known := namesIn(p.places)
	var changes []rawjson.Member
	for _, m := range members {
		switch {
		case slices.Contains(known, m.Name):
			changes = append(changes, m)
			p.given[m.Name] = !rawjson.IsNull(m.Value)
		case byName[m.Name] != nil && rawjson.IsNull(m.Value) && !p.has(m.Name):
		case byName[m.Name] != nil && p.schedule != uuid.Nil:
			r.refuse(Pointer(m.Name), "can't be changed for one run; change its schedule %s, or give only %s", p.schedule,
				strings.Join(known, ", "))
		default:
			r.refuseUnknown(m.Name, known)
		}
	}
	return changes
}

// has reports whether the record has a field that the patch can't change.
func (p *patch) has(name string) bool {
	return rawjson.Get(p.args, name) != nil || name == keyField && p.key != nil
}

// shortMember is up to how many bytes the value of a field doesn't count when a record
// changes, so that a time, a name or a number of retries can always be given.
const shortMember = 256

// checkSize refuses a change that makes a record larger than a request may be. Some
// records are larger already, as they were made by other APIs.
func (p *patch) checkSize(r *reader, before rawjson.Value, patched []rawjson.Member) {
	size := sizeOfLong(patched)
	if size > MaxRequest && size > sizeOfLong(p.whole(before, nil)) {
		r.refuse("#", "makes the request too large: with this change it would have %d bytes, and may have %d", size, MaxRequest)
	}
}

// sizeOfLong returns the size of an object of the members that are not short. The others
// are bounded as each field occurs once.
func sizeOfLong(members []rawjson.Member) int {
	return len(rawjson.Object(slices.DeleteFunc(slices.Clone(members), func(m rawjson.Member) bool {
		return len(m.Value) <= shortMember || isColumn(m)
	})))
}

func isColumn(m rawjson.Member) bool { f := byName[m.Name]; return f != nil && f.Column }

// whole returns the members of a create request: args and the fields that have
// columns of their own, after changes.
func (p *patch) whole(args rawjson.Value, changes []rawjson.Member) []rawjson.Member {
	members := rawjson.Members(args)
	add := func(name string, old *string) {
		if i := slices.IndexFunc(changes, func(m rawjson.Member) bool { return m.Name == name }); i >= 0 {
			members = append(members, changes[i])
		} else if old != nil {
			members = append(members, rawjson.Member{Name: name, Value: rawjson.Quote(*old)})
		}
	}
	add("name", p.name)
	add("description", p.description)
	return members
}

// setStart sets when the grid of a schedule with a new frequency begins, if the
// patch has no first time: at the old first time. A cron expression's own first tick is not such a time: the
// new expression, or time zone, may have an earlier one.
func (p *patch) setStart(r *reader) {
	removed, asked := false, !r.has("cron")
	for _, name := range firstTimes {
		value, known := p.given[name]
		there := rawjson.Get(p.args, name) != nil
		removed = removed || known && !value && there
		asked = asked || there
	}
	if asked && !removed && p.firstTime.After(r.opts.Now) {
		r.timing.start, r.timing.given = p.firstTime, true
	}
}

// firstTime returns the time that was asked for as a schedule's first; the first point
// if none was. Versions before stored a cron's first tick as the beginning of its grid,
// which can be long after the time asked for. That time is at most schedule_in ahead.
func (s *Schedule) firstTime(now time.Time) time.Time {
	if at := rawjson.Get(s.Args, "scheduled_at"); at != nil {
		return instantOf(at)
	}
	if rawjson.Get(s.Args, "cron") == nil {
		return s.FirstDue
	}
	if in := rawjson.Get(s.Args, "schedule_in"); in != nil {
		if latest := now.Add(DurationOf(in)); latest.Before(s.FirstDue) {
			return latest
		}
		return s.FirstDue
	}
	if grid, _ := s.Grid(); grid != nil {
		return grid.First(grid.Begin).Add(-grid.Shift)
	}
	return s.FirstDue
}

// relevant returns the problems that the patch causes: those of its fields, and
// those that the record does not have without it. sent are its args with what is hidden.
func (p *patch) relevant(err error, sent rawjson.Value) error {
	opts := p.opts
	if p.creates {
		opts = opts.withoutNames()
		opts.HeaderKey = nil // the key is the call's
	}
	before := problemsOf(p.whole(sent, nil), opts, p.schedule != uuid.Nil)
	problems := slices.DeleteFunc(slices.Clone(fault.ProblemsOf(err)), func(problem fault.Problem) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(problem.Pointer, "#/"), "/")
		_, given := p.given[name]
		return !given && slices.Contains(before, problem)
	})
	return fault.Refuse(problems)
}

// problemsOf returns the problems of a record that was read before. run is set for a
// schedule's run.
func problemsOf(members []rawjson.Member, opts ReadOptions, run bool) []fault.Problem {
	r, err := newReader(emptyObject, "", opts)
	if err != nil {
		return fault.ProblemsOf(err)
	}
	r.run = run
	for _, m := range members {
		if !slices.Contains(firstTimes, m.Name) {
			r.fields[m.Name] = m.Value
		}
	}
	_, err = r.finish(nil)
	return fault.ProblemsOf(err)
}

// withoutNames returns the options for reading a request without looking for the
// limits and secrets that it names.
func (o ReadOptions) withoutNames() ReadOptions {
	o.HasLimit, o.CheckSecret = nil, nil
	return o
}

// CheckNames returns a fault that lists the limits and secrets that a schedule names and
// that can't be used, because they were deleted or changed since it was read.
func CheckNames(s *Schedule, opts ReadOptions) error {
	members := rawjson.Members(s.Args)
	others := problemsOf(members, opts.withoutNames(), false)
	problems := slices.DeleteFunc(problemsOf(members, opts, false), func(p fault.Problem) bool { return slices.Contains(others, p) })
	for _, name := range s.Hidden.Secrets {
		if opts.CheckSecret == nil {
			break
		}
		if why := opts.CheckSecret(name, rawjson.Text(rawjson.Get(s.Args, "url")), SecretForHeaders); why != "" {
			problems = append(problems, fault.Problem{Pointer: "#/headers", Detail: why})
		}
	}
	return fault.Refuse(problems)
}

// difference returns the fields in which a record differs from a draft.
func (p *patch) difference(d *Draft) []FieldChange {
	changes := differences(p.whole(p.args, nil), (&patch{name: d.Name, description: d.Description}).whole(d.Args, nil))
	return hiddenChanges(changes, &p.hidden, &d.Hidden, d.Args)
}

// hiddenChanges adds the fields that differ in what is hidden only, and hides old values
// that new args hide.
func hiddenChanges(changes []FieldChange, before, after *Hidden, args rawjson.Value) []FieldChange {
	redact := redactOf(rawjson.Get(args, redactField))
	for i := range changes {
		switch c := &changes[i]; {
		case c.From == nil:
		case redact.Body && (c.Path == "/body" || c.Path == "/"+base64Field):
			c.From = redacted
		case c.Path == "/headers":
			c.From = redact.shownHeaders(c.From)
		}
	}
	add := func(differs bool, paths ...string) {
		if differs && !slices.ContainsFunc(changes, func(c FieldChange) bool { return slices.Contains(paths, c.Path) }) {
			changes = append(changes, FieldChange{Path: paths[0], From: redacted, To: redacted})
		}
	}
	add(before.Body != "" && after.Body != "" && before.Body != after.Body, "/body", "/"+base64Field)
	add(before.Headers != "" && after.Headers != "" && before.Headers != after.Headers, "/headers")
	return changes
}

// Differences returns the fields in which one job's definition differs from
// another's.
func Differences(before, after *Job) []FieldChange {
	fields := func(j *Job) []rawjson.Member {
		return (&patch{name: j.Name, description: j.Description}).whole(j.Args, nil)
	}
	return hiddenChanges(differences(fields(before), fields(after)), &before.Hidden, &after.Hidden, after.Args)
}

func differences(before, after []rawjson.Member) []FieldChange {
	var changes []FieldChange
	for _, old := range before {
		if now := valueIn(after, old.Name); !rawjson.Equal(old.Value, now) {
			changes = append(changes, FieldChange{Path: pathTo(old.Name), From: old.Value, To: now})
		}
	}
	for _, m := range after {
		if valueIn(before, m.Name) == nil {
			changes = append(changes, FieldChange{Path: pathTo(m.Name), To: m.Value})
		}
	}
	return changes
}

// Created returns the difference between nothing and a new record.
func Created(d *Draft) []FieldChange { return (&patch{}).difference(d) }

func valueIn(members []rawjson.Member, name string) rawjson.Value {
	for _, m := range members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

func pathTo(name string) string { return "/" + pointerEscapes.Replace(name) }
