package alert

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// MaxReceivers is the maximum number of receivers of an alert.
	MaxReceivers = 10
	// MaxAfter is the greatest value of after.
	MaxAfter = 1000
	// MaxDefinition is the maximum size of a definition in bytes.
	MaxDefinition = 16 << 10
	// defaultLate is late_by when it isn't given.
	defaultLate = time.Minute
)

// Checks are the checks of Read that depend on the service.
type Checks struct {
	// Targets has CheckHost and AllowHTTP, for the URLs of receivers.
	Targets job.ReadOptions
	// Mail is whether the service can send e-mails.
	Mail bool
	// Address says why an e-mail address can't be used; "" if it can. Nil for any.
	Address func(mailaddress.Address) string
	// Stored: the definition was accepted, perhaps by an earlier version. Addresses
	// that are refused now don't make the rest unusable.
	Stored bool
}

// Draft is a valid definition.
type Draft struct {
	Definition
	// JSON is the definition with its defaults, as it is stored and shown; Match is
	// its member match.
	JSON, Match rawjson.Value
}

var fields = []string{"on", "after", "late_by", "match", "to", "remind_every"}

// signals are the values of on.
var signals = []string{"failed", "recovered", "late", "skipped", "ended"}

// reader reads a definition and collects all its problems.
type reader struct {
	checks   Checks
	problems fault.Problems
	draft    Draft
}

func (r *reader) refuse(pointer, detail string) {
	r.problems.Add(fault.Problem{Pointer: pointer, Detail: detail})
}

// Read reads the definition of an alert. Its error is a fault that lists every
// problem.
func Read(body rawjson.Value, checks Checks) (*Draft, error) {
	r := &reader{checks: checks}
	r.draft.After, r.draft.LateBy = 1, defaultLate
	if body.Kind() != '{' {
		r.refuse("#", "must be a JSON object with the fields of an alert")
		return nil, r.problems.Err()
	}
	given := r.members("#", body, fields)
	if v, ok := given["on"]; ok {
		r.readOn(v)
	} else {
		r.refuse("#/on", "is required: a list of "+strings.Join(signals, ", "))
	}
	if v, ok := given["after"]; ok {
		r.readAfter(v)
	}
	if v, ok := given["late_by"]; ok {
		r.draft.LateBy, _ = job.ReadDuration(v, "#/late_by", time.Second, job.MaxAhead, r.refuse)
	}
	if v, ok := given["remind_every"]; ok {
		r.draft.RemindEvery, _ = job.ReadDuration(v, "#/remind_every", time.Second, job.MaxAhead, r.refuse)
	}
	r.draft.Match = rawjson.Value(`{}`)
	if v, ok := given["match"]; ok {
		r.readMatch(v)
	}
	if v, ok := given["to"]; ok {
		r.readTo(v)
	} else {
		r.refuse("#/to", "is required: a list of 1 to "+strconv.Itoa(MaxReceivers)+" receivers")
	}
	r.draft.JSON = normal(given)
	if len(r.draft.JSON) > MaxDefinition {
		r.refuse("#", "must be at most 16 KiB as JSON")
	}
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	return &r.draft, nil
}

// normal returns the definition with its defaults, in a fixed order.
func normal(given map[string]rawjson.Value) rawjson.Value {
	defaults := map[string]string{"after": `1`, "late_by": `60`, "match": `{}`, "remind_every": `null`}
	members := make([]rawjson.Member, 0, len(fields))
	for _, name := range fields {
		v, ok := given[name]
		if !ok {
			v = rawjson.Value(defaults[name])
		}
		members = append(members, rawjson.Member{Name: name, Value: v})
	}
	return rawjson.Object(members)
}

// members returns the known members of an object that aren't null, and refuses
// all others.
func (r *reader) members(at string, v rawjson.Value, known []string) map[string]rawjson.Value {
	given := map[string]rawjson.Value{}
	for _, m := range rawjson.Members(v) {
		if !slices.Contains(known, m.Name) {
			r.refuse(at+strings.TrimPrefix(job.Pointer(m.Name), "#"), "is not a known field; the known ones are "+strings.Join(known, ", "))
		} else if !rawjson.IsNull(m.Value) {
			given[m.Name] = m.Value
		}
	}
	return given
}

func (r *reader) readOn(v rawjson.Value) {
	elements := rawjson.Elements(v)
	if v.Kind() != '[' || len(elements) == 0 || len(elements) > len(signals) {
		r.refuse("#/on", "must be a list of one or more of "+strings.Join(signals, ", "))
		return
	}
	d := &r.draft
	for i, e := range elements {
		at := "#/on/" + strconv.Itoa(i)
		set := map[string]*bool{"failed": &d.Failed, "recovered": &d.Recovered, "late": &d.Late, "skipped": &d.Skipped,
			"ended": &d.Ended}[rawjson.Text(e)]
		switch {
		case e.Kind() != '"' || set == nil:
			r.refuse(at, "must be one of "+strings.Join(signals, ", "))
		case *set:
			r.refuse(at, "is a repetition; leave it out")
		default:
			*set = true
		}
	}
}

func (r *reader) readAfter(v rawjson.Value) {
	n, err := strconv.Atoi(string(v))
	if v.Kind() != '0' || err != nil || n < 1 || n > MaxAfter {
		r.refuse("#/after", "must be a whole number from 1 to "+strconv.Itoa(MaxAfter))
		return
	}
	r.draft.After = n
}

func (r *reader) readMatch(v rawjson.Value) {
	if v.Kind() != '{' {
		r.refuse("#/match", "must be an object with tags, schedule_id or both")
		return
	}
	r.draft.Match = v
	given := r.members("#/match", v, []string{"tags", "schedule_id"})
	if v, ok := given["schedule_id"]; ok {
		id, err := uuid.Parse(rawjson.Text(v))
		if v.Kind() != '"' || err != nil || len(rawjson.Text(v)) != 36 || id == uuid.Nil {
			r.refuse("#/match/schedule_id", "must be the id of a schedule, a UUID")
		}
		r.draft.Schedule = id
	}
	if v, ok := given["tags"]; ok {
		r.readTags(v)
	}
}

func (r *reader) readTags(v rawjson.Value) {
	elements := rawjson.Elements(v)
	if v.Kind() != '[' || len(elements) > job.MaxTags {
		r.refuse("#/match/tags", "must be a list of at most "+strconv.Itoa(job.MaxTags)+" tags")
		return
	}
	for i, e := range elements {
		tag := rawjson.Text(e)
		if e.Kind() != '"' || !job.IsTag(tag) {
			r.refuse("#/match/tags/"+strconv.Itoa(i), job.TagRule)
			continue
		}
		r.draft.Tags = append(r.draft.Tags, tag)
	}
}

func (r *reader) readTo(v rawjson.Value) {
	elements := rawjson.Elements(v)
	if v.Kind() != '[' || len(elements) == 0 || len(elements) > MaxReceivers {
		r.refuse("#/to", "must be a list of 1 to "+strconv.Itoa(MaxReceivers)+" receivers")
		return
	}
	for i, e := range elements {
		at := "#/to/" + strconv.Itoa(i)
		receiver, ok := r.readReceiver(at, e)
		if ok && slices.Contains(r.draft.To, receiver) {
			r.refuse(at, "is a repetition of another receiver; leave it out")
		}
		r.draft.To = append(r.draft.To, receiver)
	}
}

func (r *reader) readReceiver(at string, v rawjson.Value) (receiver Receiver, ok bool) {
	names := notify.ChannelNames()
	shape := "must be an object with one of " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] +
		`, as in {"webhook": "https://example.com/alerts"}`
	if v.Kind() != '{' {
		r.refuse(at, shape)
		return receiver, false
	}
	before := r.problems.Len()
	given := r.members(at, v, names)
	if r.problems.Len() > before {
		return receiver, false
	}
	if len(given) != 1 {
		r.refuse(at, shape)
		return receiver, false
	}
	for name, v := range given {
		receiver, ok = r.readTarget(at+"/"+name, name, v)
	}
	return receiver, ok
}

func (r *reader) readTarget(at, name string, v rawjson.Value) (receiver Receiver, ok bool) {
	if v.Kind() != '"' {
		r.refuse(at, "must be a string")
		return receiver, false
	}
	text, why := rawjson.Text(v), ""
	channel := notify.ChannelNamed(name)
	if channel.Number == job.AlertMail {
		receiver, why = r.readAddress(text)
	} else {
		receiver = Receiver{channel.Number, channel.TargetOf(text)}
		if channel.Why != nil {
			why = channel.Why(text)
		}
		if why == "" {
			why = job.WhyNotTarget(receiver.Target, r.checks.Targets)
		}
	}
	if why != "" {
		r.refuse(at, why)
	}
	return receiver, why == ""
}

// readAddress reads an e-mail address. It must be one that every mail server takes, and
// of a domain of the Internet.
func (r *reader) readAddress(text string) (receiver Receiver, why string) {
	address, ok := mailaddress.Parse(text)
	switch {
	case !ok && r.checks.Stored:
		return Receiver{job.AlertMail, "mailto:" + text}, ""
	case !ok:
		why = "must be an e-mail address, as in name@example.com"
	case r.checks.Stored:
	case !address.IsPublic():
		why = "must be an address of a domain with a dot, as in name@example.com"
	case !address.IsASCII():
		why = "must have only ASCII letters, digits and punctuation before the @"
	case !r.checks.Mail:
		why = "can't be used: this service sends no e-mails; whoever runs it must start it with --smtp-url and --smtp-from"
	case r.checks.Address != nil:
		why = r.checks.Address(address)
	}
	return Receiver{job.AlertMail, "mailto:" + address.String()}, why
}
