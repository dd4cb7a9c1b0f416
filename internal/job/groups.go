package job

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Bounds of groups and of requests that name them.
const (
	// MaxTargets is how many targets a group may have.
	MaxTargets = 100
	// MaxGroups is how many groups an account may have.
	MaxGroups = 1000
	// MaxGroupSize is how many bytes the targets of a group may have, and the args of a
	// request that names a group: each of its jobs stores both.
	MaxGroupSize = 64 << 10
)

// groupField is the field that names a group.
const groupField = "group"

// Group is a named list of targets of an account.
type Group struct {
	Account               int64
	Name                  string
	Targets               rawjson.Value // an array, as sent
	InsertedAt, UpdatedAt time.Time
}

// Revision returns a number that rises with each change of the group, and when it is
// created again after it was deleted: UpdatedAt in microseconds.
func (g *Group) Revision() int64 { return g.UpdatedAt.UnixMicro() }

// Size returns the group's size in bytes.
func (g *Group) Size() int { return len(g.Name) + len(g.Targets) + 100 }

// Target is a target of a group.
type Target struct {
	URL     string
	Headers rawjson.Value // nil if absent
}

// TargetList returns the targets, which were validated, in order.
func (g *Group) TargetList() []Target {
	var targets []Target
	for _, v := range rawjson.Elements(g.Targets) {
		t := Target{URL: rawjson.Text(rawjson.Get(v, "url"))}
		if headers := rawjson.Get(v, "headers"); !rawjson.IsNull(headers) {
			t.Headers = headers
		}
		targets = append(targets, t)
	}
	return targets
}

// GroupNameRule says what the name of a group is.
const GroupNameRule = "must be 1 to 64 letters, digits and the characters : . _ - and begin with a letter or digit"

// IsGroupName reports whether a text can be the name of a group.
func IsGroupName(text string) bool { return limit.ValidName(text) }

var (
	groupFields  = []string{"targets"}
	targetFields = []string{"name", "url", "headers"}
)

// ReadTargets reads the body that defines a group: its targets. The error is a fault
// that lists every problem.
func ReadTargets(body rawjson.Value, opts ReadOptions) (rawjson.Value, error) {
	r, err := newReader(body, `must be a JSON object with targets, as in {"targets": [{"name": "a", "url": "https://example.com/a"}]}`,
		opts)
	if err != nil {
		return nil, err
	}
	var list rawjson.Value
	for _, m := range rawjson.Members(body) {
		if m.Name == groupFields[0] {
			list = m.Value
		} else {
			r.refuseUnknown(m.Name, groupFields)
		}
	}
	targets := rawjson.Elements(list)
	switch {
	case rawjson.IsNull(list):
		r.refuse("#/targets", "is required")
	case list.Kind() != '[' || len(targets) == 0 || len(targets) > MaxTargets:
		r.refuse("#/targets", "must be a list of 1 to %d targets", MaxTargets)
	case len(list) > MaxGroupSize:
		r.refuse("#/targets", "must have at most %d KiB", MaxGroupSize>>10)
	default:
		names := map[string]bool{}
		for i, target := range targets {
			r.readTarget(i, target, names)
		}
	}
	return list, r.problems.Err()
}

// readTarget checks the target at an index. names has the names of those before it.
func (r *reader) readTarget(i int, target rawjson.Value, names map[string]bool) {
	at := strconv.Itoa(i)
	if target.Kind() != '{' {
		r.refuse(Pointer("targets", at), `must be an object with name, url and headers`)
		return
	}
	// The fields url and headers are checked like those of a job.
	inner := &reader{opts: r.opts, fields: map[string]rawjson.Value{}}
	name := false
	for _, m := range rawjson.Members(target) {
		switch {
		case !slices.Contains(targetFields, m.Name):
			inner.refuseUnknown(m.Name, targetFields)
		case rawjson.IsNull(m.Value):
		case m.Name == "name":
			name = true
			text := rawjson.Text(m.Value)
			switch {
			case m.Value.Kind() != '"' || !IsGroupName(text):
				inner.refuse("#/name", GroupNameRule)
			case names[text]:
				inner.refuse("#/name", "is the name of another target; each needs its own")
			}
			names[text] = true
		default:
			inner.fields[m.Name] = m.Value
		}
	}
	if !name {
		inner.refuse("#/name", "is required")
	}
	if !inner.has("url") {
		inner.refuse("#/url", "is required")
	}
	for _, field := range []string{"url", "headers"} {
		if v, given := inner.fields[field]; given {
			byName[field].read(inner, byName[field], v)
		}
	}
	if headers, given := inner.fields["headers"]; given {
		checkSecrets(inner, byName["headers"], headers)
	}
	r.problems.AddElementOf("targets", i, inner.problems.Err())
}

func readGroup(r *reader, f *Field, v rawjson.Value) {
	name := rawjson.Text(v)
	switch {
	case v.Kind() != '"':
		r.refuse(Pointer(f.Name), "must be a string, the name of a group")
	case r.opts.NoGroup != "":
		r.refuse(Pointer(f.Name), "%s", r.opts.NoGroup)
	case !IsGroupName(name):
		r.refuse(Pointer(f.Name), GroupNameRule)
	case r.opts.Targets != nil:
		if _, defined := r.opts.Targets(name); !defined {
			r.refuse(Pointer(f.Name), "is not a defined group; define it with PUT /api/groups/%s", name)
		}
	}
}

// targets returns the targets of the group that the request names; nil if it names none
// that is defined.
func (r *reader) targets() []Target {
	name := rawjson.Text(r.fields[groupField])
	if r.opts.Targets == nil || !IsGroupName(name) {
		return nil
	}
	targets, _ := r.opts.Targets(name)
	return targets
}

// targetURLs returns where the request's jobs will go: its url, or those of its group's
// targets; "" if that is not known.
func (r *reader) targetURLs() []string {
	var urls []string
	for _, t := range r.targets() {
		urls = append(urls, t.URL)
	}
	if urls != nil {
		return urls
	}
	if target := rawjson.Text(r.fields["url"]); r.opts.whyNotURL(target) == "" {
		return []string{target}
	}
	return []string{""} // already refused
}

// checkGroup verifies what else a request with a group may have.
func checkGroup(r *reader, f *Field, _ rawjson.Value) {
	size := 0
	for name, v := range r.fields {
		size += len(name) + len(v)
	}
	if size > MaxGroupSize {
		r.refuse("#", "must have at most %d KiB if it names a group, because each of the group's jobs stores it", MaxGroupSize>>10)
	}
	switch action := rawjson.Text(r.fields[conflictField]); action {
	case OnConflictReplace, OnConflictDebounce:
		r.refuse(Pointer(conflictField), "can't be %s with a group: it has several jobs; give return or refuse", action)
	}
}

var groupMember = []byte(`"` + groupField + `"`)

// GroupNamed returns the name of the group that args name; "" if they have a url.
func GroupNamed(args rawjson.Value) string {
	if !bytes.Contains(args, groupMember) {
		return ""
	}
	return rawjson.Text(rawjson.Get(args, groupField))
}

// StoredTags returns the tags by which stores index args: also one that no request can
// have, for the group that they name.
func StoredTags(args rawjson.Value) []string {
	tags := LabelsOf(args).Tags
	if group := GroupNamed(args); group != "" {
		tags = append(slices.Clip(tags), GroupTag(group))
	}
	return tags
}

// GroupTag returns the tag by which stores index what names a group.
func GroupTag(name string) string { return "@" + name }

// ForTarget returns the args of the job that a request, or a run of a schedule, with a
// group becomes for a target: its url in place of the group, its headers before others of
// the same names, and nothing that only schedules have, nor times.
//
// The args have h hidden in them. If redact names headers of the target, they are hidden
// too, by the Sealer. Its error can be shown.
func ForTarget(args rawjson.Value, h *Hidden, t Target, recurs bool, s Sealer, owner Owner) (rawjson.Value, Hidden, error) {
	if redact := ReadSpec(args).Redact; t.Headers == nil || !redact.Headers && len(redact.Header) == 0 {
		return forTarget(args, t, recurs), *h, nil
	}
	opened, err := h.open(s, owner.ID)
	if err != nil {
		return nil, Hidden{}, err
	}
	return hide(forTarget(opened.reveal(args), t, recurs), s, owner.ID, h, opened)
}

func forTarget(args rawjson.Value, t Target, recurs bool) rawjson.Value {
	// A group may have got such headers since the request was checked.
	auth := authOf(rawjson.Get(args, authField))
	t.Headers = withoutHeaders(t.Headers, auth.headers())
	var kept []rawjson.Member
	for _, m := range rawjson.Members(args) {
		f := byName[m.Name]
		switch {
		case m.Name == groupField:
			kept = append(kept, rawjson.Member{Name: "url", Value: rawjson.Quote(t.URL)})
		case m.Name == "headers":
			kept = append(kept, rawjson.Member{Name: m.Name, Value: mergeHeaders(m.Value, t.Headers)})
		case recurs && f != nil && (f.In&ForJob == 0 || IsTiming(f.Name) || f.Needs == keyField):
		default:
			kept = append(kept, m)
		}
	}
	return rawjson.Object(kept)
}

// mergeHeaders returns headers with those of a target, which win. Names are compared
// without regard to case.
func mergeHeaders(headers, ofTarget rawjson.Value) rawjson.Value {
	if ofTarget == nil {
		return headers
	}
	mine := rawjson.Members(ofTarget)
	var all []rawjson.Member
	for _, m := range rawjson.Members(headers) {
		if !slices.ContainsFunc(mine, func(t rawjson.Member) bool { return strings.EqualFold(t.Name, m.Name) }) {
			all = append(all, m)
		}
	}
	return rawjson.Object(append(all, mine...))
}

// withoutHeaders returns headers without those with some names, which are in lower case.
func withoutHeaders(headers rawjson.Value, names []string) rawjson.Value {
	if headers == nil || firstHeader(headers, names) == "" {
		return headers
	}
	return rawjson.Object(slices.DeleteFunc(rawjson.Members(headers), func(m rawjson.Member) bool {
		return slices.Contains(names, strings.ToLower(m.Name))
	}))
}

// GroupID returns the ID of the i-th job of a request with a group, given the first
// one's: they are consecutive, so that the first leads to the others.
func GroupID(first uuid.UUID, i int) uuid.UUID {
	first[15] += byte(i)
	return first
}
