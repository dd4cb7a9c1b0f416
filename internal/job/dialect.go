package job

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// dialectField is the field that says through which other API a job was created.
const dialectField = "dialect"

// The dialects, each of the jobs that a compatible API creates.
const (
	DialectQStash         = "qstash"
	DialectCloudTasks     = "cloud_tasks"
	DialectCloudScheduler = "cloud_scheduler"
)

var dialects = []string{DialectQStash, DialectCloudTasks, DialectCloudScheduler}

// Bounds of a dialect's members.
const (
	MaxDialectText   = 255 // characters
	MaxDialectLabels = 100
	MaxDialectName   = 800     // characters
	MaxDialectView   = 8 << 10 // bytes
	// MaxAttempts bounds max_attempts; UnlimitedAttempts stands for no bound.
	MaxAttempts       = 1_000_000
	UnlimitedAttempts = -1
)

// Dialect is how the requests of a job look, if clients of another API created it: the
// header fields and the signature that the receivers of that API expect, and the body
// of its callbacks.
type Dialect struct {
	API string // one of the Dialect constants
	// Callback is the job that is created after each attempt, with the outcome as its
	// body; FailureCallback the one after the last, if that failed. Objects with fields
	// of a create request; nil for none.
	Callback, FailureCallback rawjson.Value
	Labels                    []string // of any text, unlike tags
	CallerIP                  string   // from where the job was created
	Queue, FlowControl        string   // the names of limits as that API knows them
	Group, Endpoint           string   // the group and the target in it that the job is for
	Source                    string   // the message whose callback the job is
	Run, Step                 string   // the workflow run that the job belongs to, and what it is for: see workflow.ReadMessage
	Archived                  bool     // a client has dealt with the failed job
	Name                      string   // of the task or job, as that API knows it
	// MaxAttempts is how often the job is attempted in place of Spec.Retries, or
	// UnlimitedAttempts; 0 if it is not given. RetryFor is how long it is retried at least,
	// from its first attempt on, however many attempts that takes.
	MaxAttempts int
	RetryFor    time.Duration
	// View is what that API shows of the job beyond its fields: an object; nil for none.
	View rawjson.Value
}

// Speaks reports whether the dialect is the one of an API. A nil Dialect is none's.
func (d *Dialect) Speaks(api string) bool { return d != nil && d.API == api }

// IsGoogle reports whether the dialect is one of the Google-compatible APIs.
func (d *Dialect) IsGoogle() bool {
	return d.Speaks(DialectCloudTasks) || d.Speaks(DialectCloudScheduler)
}

// text returns the member with a name; nil if it is not a text.
func (d *Dialect) text(name string) *string {
	switch name {
	case "api":
		return &d.API
	case "caller_ip":
		return &d.CallerIP
	case "queue":
		return &d.Queue
	case "flow_control":
		return &d.FlowControl
	case "group":
		return &d.Group
	case "endpoint":
		return &d.Endpoint
	case "source":
		return &d.Source
	case "name":
		return &d.Name
	case "run":
		return &d.Run
	case "step":
		return &d.Step
	}
	return nil
}

// maxText returns the greatest length of a member that is a text, in characters.
func maxText(name string) int {
	if name == "name" {
		return MaxDialectName
	}
	return MaxDialectText
}

// followUp returns the member with a name; nil if it is not a job.
func (d *Dialect) followUp(name string) *rawjson.Value {
	switch name {
	case "callback":
		return &d.Callback
	case "failure_callback":
		return &d.FailureCallback
	}
	return nil
}

// dialectMembers are the names of all members.
var dialectMembers = []string{
	"api", "callback", "failure_callback", "labels", "caller_ip", "queue", "flow_control", "group", "endpoint", "source", "archived",
	"name", "max_attempts", "retry_for", "view", "run", "step",
}

// dialectOf reads a dialect that was checked.
func dialectOf(v rawjson.Value) *Dialect {
	d := &Dialect{}
	for _, m := range rawjson.Members(v) {
		if to := d.text(m.Name); to != nil {
			*to = rawjson.Text(m.Value)
			continue
		}
		if to := d.followUp(m.Name); to != nil {
			*to = m.Value
			continue
		}
		switch m.Name {
		case "labels":
			for _, label := range rawjson.Elements(m.Value) {
				d.Labels = append(d.Labels, rawjson.Text(label))
			}
		case "archived":
			d.Archived = string(m.Value) == "true"
		case "max_attempts":
			d.MaxAttempts, _ = strconv.Atoi(string(m.Value))
		case "retry_for":
			d.RetryFor = DurationOf(m.Value)
		case "view":
			d.View = m.Value
		}
	}
	return d
}

// Value returns the dialect as it is given in a create request.
func (d *Dialect) Value() rawjson.Value {
	members := make([]rawjson.Member, 0, len(dialectMembers))
	for _, name := range dialectMembers {
		if text := d.text(name); text != nil {
			if *text != "" {
				members = append(members, rawjson.Member{Name: name, Value: rawjson.Quote(*text)})
			}
			continue
		}
		if job := d.followUp(name); job != nil {
			if *job != nil {
				members = append(members, rawjson.Member{Name: name, Value: *job})
			}
			continue
		}
		switch {
		case name == "labels" && len(d.Labels) > 0:
			labels := make([]rawjson.Value, len(d.Labels))
			for i, label := range d.Labels {
				labels[i] = rawjson.Quote(label)
			}
			members = append(members, rawjson.Member{Name: name, Value: rawjson.Array(labels)})
		case name == "archived" && d.Archived:
			members = append(members, rawjson.Member{Name: name, Value: rawjson.Value(`true`)})
		case name == "max_attempts" && d.MaxAttempts != 0:
			members = append(members, rawjson.Member{Name: name, Value: rawjson.Value(strconv.Itoa(d.MaxAttempts))})
		case name == "retry_for" && d.RetryFor > 0:
			seconds := strconv.FormatFloat(d.RetryFor.Seconds(), 'f', -1, 64)
			members = append(members, rawjson.Member{Name: name, Value: rawjson.Value(seconds)})
		case name == "view" && d.View != nil:
			members = append(members, rawjson.Member{Name: name, Value: d.View})
		}
	}
	return rawjson.Object(members)
}

func readDialect(r *reader, f *Field, v rawjson.Value) {
	if v.Kind() != '{' {
		r.refuse(Pointer(f.Name), "must be an object, as in {\"api\": \"qstash\"}")
		return
	}
	var d Dialect
	api := false
	for _, m := range rawjson.Members(v) {
		pointer := Pointer(f.Name, m.Name)
		switch {
		case m.Name == "api":
			api = true
			if m.Value.Kind() != '"' || !slices.Contains(dialects, rawjson.Text(m.Value)) {
				r.refuse(pointer, "must be one of %s", strings.Join(dialects, ", "))
			}
		case d.text(m.Name) != nil:
			r.dialectText(pointer, m.Value, maxText(m.Name))
		case d.followUp(m.Name) != nil:
			readFollowUp(r, pointer, m.Value)
		case m.Name == "labels":
			r.readDialectLabels(pointer, m.Value)
		case m.Name == "archived":
			if m.Value.Kind() != 't' && m.Value.Kind() != 'f' {
				r.refuse(pointer, "must be true or false")
			}
		case m.Name == "max_attempts":
			n, err := strconv.Atoi(string(m.Value))
			if m.Value.Kind() != '0' || err != nil || n != UnlimitedAttempts && (n < 1 || n > MaxAttempts) {
				r.refuse(pointer, "must be a whole number from 1 to %d, or -1 for no bound", MaxAttempts)
			}
		case m.Name == "retry_for":
			_, _ = ReadDuration(m.Value, pointer, 0, MaxAhead, func(pointer, detail string) { r.refuse(pointer, "%s", detail) })
		case m.Name == "view":
			if m.Value.Kind() != '{' || len(m.Value) > MaxDialectView {
				r.refuse(pointer, "must be an object of up to %d bytes", MaxDialectView)
			}
		default:
			r.refuse(pointer, "is not a known member; the known ones are %s", strings.Join(dialectMembers, ", "))
		}
	}
	if !api {
		r.refuse(Pointer(f.Name, "api"), "is required")
	}
}

func (r *reader) dialectText(pointer string, v rawjson.Value, most int) {
	text := rawjson.Text(v)
	if n := len([]rune(text)); v.Kind() != '"' || n < 1 || n > most || strings.ContainsRune(text, 0) {
		r.refuse(pointer, "must be a string of 1 to %d characters without U+0000", most)
	}
}

func (r *reader) readDialectLabels(pointer string, v rawjson.Value) {
	labels := rawjson.Elements(v)
	if v.Kind() != '[' || len(labels) > MaxDialectLabels {
		r.refuse(pointer, "must be a list of up to %d strings", MaxDialectLabels)
		return
	}
	for i, label := range labels {
		r.dialectText(pointer+"/"+strconv.Itoa(i), label, MaxDialectText)
	}
}

// followUpFields are the fields that a follow-up job can have. The body is the outcome.
var followUpFields = []string{
	"url", "method", "headers", "timeout", "retries", "backoff", "retry_delay", "no_retry", "success", "schedule_in", "limits", "tags",
}

// readFollowUp checks the fields of a job that is created when another one ends. It is
// set when the table of fields, which names readDialect, is there.
var readFollowUp func(r *reader, pointer string, v rawjson.Value)

func init() { readFollowUp = checkFollowUp }

func checkFollowUp(r *reader, pointer string, v rawjson.Value) {
	opts := r.opts
	opts.HeaderKey = nil
	sub, err := newReader(v, "must be an object with the fields of a job", opts)
	if err == nil {
		sub.take(rawjson.Members(v), followUpFields)
		sub.requireURL()
		sub.readFields()
		sub.setDue()
		sub.checkTogether()
		sub.checkSize()
		err = sub.problems.Err()
	}
	for _, problem := range fault.ProblemsOf(err) {
		problem.Pointer = pointer + strings.TrimPrefix(problem.Pointer, "#")
		r.problems.Add(problem)
	}
}

// FollowUp returns the job that is created for a follow-up of a dialect, with a body,
// at a time. The dialect is that of the new job.
func FollowUp(fields rawjson.Value, dialect *Dialect, j *Job, body []byte, now time.Time) (*Job, *Spec) {
	members := make([]rawjson.Member, 0, 8)
	due := now
	given := map[string]bool{}
	for _, m := range rawjson.Members(fields) {
		if m.Name == "schedule_in" {
			due = now.Add(DurationOf(m.Value))
		}
		given[m.Name] = true
		members = append(members, m)
	}
	members = append(members, rawjson.Member{Name: base64Field, Value: rawjson.Quote(base64.StdEncoding.EncodeToString(body))})
	members = append(members, rawjson.Member{Name: dialectField, Value: dialect.Value()})
	if !given["method"] {
		members = append(members, rawjson.Member{Name: "method", Value: rawjson.Value(`"post"`)})
	}
	if !given["headers"] {
		members = append(members, rawjson.Member{Name: "headers", Value: rawjson.Value(`{"Content-Type":"application/json"}`)})
	}
	args := rawjson.Object(members)
	spec := ReadSpec(args)
	return &Job{
		ID: NewID(now), Owner: j.Owner, InsertedAt: now, ScheduledAt: due, DueAt: due, State: Available, Hops: j.Hops, Trace: j.Trace,
		Args: args,
	}, &spec
}

var runMember = []byte(`"run"`)

// RunOf returns the workflow run that a job with the given args belongs to, and what it is
// for; "" if it belongs to none.
func RunOf(args rawjson.Value) (run, step string) {
	if !bytes.Contains(args, runMember) {
		return "", ""
	}
	d := DialectIn(args, DialectQStash)
	if d == nil {
		return "", ""
	}
	return d.Run, d.Step
}

// Archived returns args whose dialect says that a client has dealt with the failed job.
// ok is false if they have no dialect, or say so already.
func Archived(args rawjson.Value) (archived rawjson.Value, ok bool) {
	members := rawjson.Members(args)
	for i, m := range members {
		if m.Name != dialectField {
			continue
		}
		d := dialectOf(m.Value)
		if d.Archived || d.API != DialectQStash {
			return nil, false
		}
		d.Archived = true
		members[i].Value = d.Value()
		return rawjson.Object(members), true
	}
	return nil, false
}

var dialectMember = []byte(`"` + dialectField + `"`)

// DialectIn returns the dialect in args that were checked, if it is one of the given APIs;
// else nil.
func DialectIn(args rawjson.Value, apis ...string) *Dialect {
	if !bytes.Contains(args, dialectMember) {
		return nil
	}
	spec := ReadSpec(args)
	if spec.Dialect == nil || !slices.Contains(apis, spec.Dialect.API) {
		return nil
	}
	return spec.Dialect
}
