package job

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// OperationRequest is a valid request for an operation.
type OperationRequest struct {
	Action      Action
	Filter, Set rawjson.Value // as sent; Filter is {} and Set nil if not given
	Selection   Selection
	Change      OperationChange
	DryRun      bool
}

// OperationChange is what the set of an operation asks for.
type OperationChange struct {
	// Fields are the fields that differ from the job's, as a merge patch.
	Fields []rawjson.Member
	// Start is the new due time; zero if none is given.
	Start time.Time
	// Spread is the time over which due times are distributed evenly.
	Spread time.Duration
}

// Patch returns the merge patch for a job. If at is not zero, the job is due then,
// whatever the fields say.
func (c *OperationChange) Patch(at time.Time) rawjson.Value {
	if at.IsZero() {
		return rawjson.Object(c.Fields)
	}
	fields := slices.DeleteFunc(slices.Clone(c.Fields), func(m rawjson.Member) bool { return slices.Contains(firstTimes, m.Name) })
	return rawjson.Object(append(fields, rawjson.Member{Name: "scheduled_at", Value: rawjson.Quote(FormatTime(at))}))
}

var operationFields = []string{"action", "filter", "set", "all", "dry_run"}

// ReadOperation reads a request for an operation. Its error is a fault that lists
// every problem.
func ReadOperation(body rawjson.Value, opts ReadOptions) (*OperationRequest, error) {
	r, err := newReader(body, "must be a JSON object with action and filter", opts)
	if err != nil {
		return nil, err
	}
	r.take(rawjson.Members(body), operationFields)
	o := &OperationRequest{Filter: r.fields["filter"], Set: r.fields["set"]}
	if v, given := r.fields["action"]; !given {
		r.refuse("#/action", "is required: one of %s", strings.Join(actions, ", "))
	} else if o.Action = Action(rawjson.Text(v)); v.Kind() != '"' || !slices.Contains(actions, string(o.Action)) {
		r.refuse("#/action", "must be one of %s", strings.Join(actions, ", "))
	}
	all := r.flag("all")
	o.DryRun = r.flag("dry_run")
	if o.Filter == nil {
		o.Filter = emptyObject
	}
	o.Selection, err = ReadSelection(o.Filter)
	r.include("#/filter", err)
	if err == nil && selectsAll(o.Filter) && !all {
		r.refuse("#/filter", `is empty, which selects every job; give "all": true too if that is meant`)
	}
	o.Change, err = ReadOperationChange(o.Action, o.Set, r.opts)
	r.include("#/set", err)
	return o, r.problems.Err()
}

// selectsAll reports whether a filter has no member that restricts it.
func selectsAll(filter rawjson.Value) bool {
	for _, m := range rawjson.Members(filter) {
		if !rawjson.IsNull(m.Value) && string(m.Value) != "[]" {
			return false
		}
	}
	return true
}

// include adds the problems of a part of the request, whose pointers begin at
// that part.
func (r *reader) include(at string, err error) {
	var f *fault.Error
	if !errors.As(err, &f) {
		return
	}
	for _, p := range f.Problems {
		p.Pointer = at + strings.TrimPrefix(p.Pointer, "#")
		r.problems.Add(p)
	}
	for range f.More {
		r.problems.Add(fault.Problem{})
	}
}

// spreadField is the member of set that distributes due times.
const spreadField = "spread"

// ReadOperationChange reads the set of an operation; opts.Now is when the
// operation was accepted, from which new times count. The pointers of its error
// begin at the set.
func ReadOperationChange(action Action, set rawjson.Value, opts ReadOptions) (OperationChange, error) {
	var c OperationChange
	if set == nil && action != RescheduleJobs {
		return c, nil
	}
	if set == nil {
		set = emptyObject
	}
	known := map[Action][]string{
		RerunJobs: slices.Concat(namesIn(EditJob), []string{spreadField}), RescheduleJobs: slices.Concat(firstTimes, []string{spreadField}),
	}[action]
	r, err := newReader(set, "must be an object", opts)
	if err != nil {
		return c, err
	}
	if len(set) > MaxOperationSet {
		r.refuse("#", "must be at most 256 KiB of JSON, it has %d bytes", len(set))
		return c, r.problems.Err()
	}
	members := rawjson.Members(set)
	if valueIn(members, redactField) != nil {
		r.refuse(Pointer(redactField), "can't be given here: the operation's own record shows what is in set; rerun the jobs one by one")
	}
	if len(known) == 0 && len(members) > 0 && (action == CancelJobs || action == RunJobs) {
		r.refuse("#", "must be left out: %s changes nothing else about the jobs", action)
		return c, r.problems.Err()
	}
	if len(known) == 0 {
		return c, nil // the action is wrong already
	}
	r.take(members, known)
	if v, given := r.fields[spreadField]; given {
		c.Spread, _ = ReadDuration(v, Pointer(spreadField), 0, MaxAhead, func(pointer, detail string) { r.refuse(pointer, "%s", detail) })
	}
	r.readFields()
	r.checkTogether()
	if hasNull(members, "url") {
		r.refuse("#/url", "can't be removed")
	}
	if action == RescheduleJobs && !r.timing.given && c.Spread == 0 && r.problems.Len() == 0 {
		r.refuse("#", "must have schedule_in, scheduled_at or spread")
	}
	for _, m := range members {
		if m.Name != spreadField && (r.fields[m.Name] != nil || rawjson.IsNull(m.Value)) {
			c.Fields = append(c.Fields, m)
		}
	}
	if r.timing.given {
		c.Start = r.timing.start
	}
	return c, r.problems.Err()
}

// hasNull reports whether a member is given as null.
func hasNull(members []rawjson.Member, name string) bool {
	return slices.ContainsFunc(members, func(m rawjson.Member) bool { return m.Name == name && rawjson.IsNull(m.Value) })
}
