package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/rehearse"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// Rehearsal is a request to rehearse schedules.
type Rehearsal struct {
	From, To time.Time
	Outages  []rehearse.Outage
	Fail     map[string]float64
	Duration map[string]time.Duration
	// Keys are those of the schedules to rehearse; nil for all.
	Keys []string
	// Document has the schedules to rehearse; nil for the stored ones.
	Document *job.Document
	// Each is called for each run when it starts; it may be nil.
	Each func(rehearse.Start)

	ahead bool // From is later than now
}

// BeginsLater notes whether the rehearsal begins later than now, the moment at which what
// is stored is read.
func (q *Rehearsal) BeginsLater(now time.Time) { q.ahead = q.From.After(now) }

// rehearsalFields are the fields of a request to rehearse.
var rehearsalFields = []string{"from", "to", "outages", "fail", "duration", "keys", "schedules", "owner"}

// rehearsalReader reads a request and collects all its problems.
type rehearsalReader struct {
	problems fault.Problems
	now      time.Time
	given    map[string]rawjson.Value
	read     Rehearsal
}

func (r *rehearsalReader) refuse(pointer, detail string) {
	r.problems.Add(fault.Problem{Pointer: pointer, Detail: detail})
}

// ReadRehearsal reads the body of a request to rehearse. Its error is a fault that lists
// every problem.
func (s *Service) ReadRehearsal(ctx context.Context, owner job.Owner, body rawjson.Value) (*Rehearsal, error) {
	r := &rehearsalReader{now: s.Store.Now().UTC().Truncate(time.Microsecond), given: map[string]rawjson.Value{}}
	if body.Kind() != '{' {
		r.refuse("#", "must be a JSON object; {} rehearses all stored schedules for a year from now")
		return nil, r.problems.Err()
	}
	for _, m := range rawjson.Members(body) {
		switch {
		case !slices.Contains(rehearsalFields, m.Name):
			r.refuseUnknown(m.Name)
		case !rawjson.IsNull(m.Value):
			r.given[m.Name] = m.Value
		}
	}
	r.readTimes()
	r.readOutages()
	r.readFail()
	r.readDurations()
	r.readKeys()
	if err := s.readRehearsed(ctx, owner, r); err != nil {
		return nil, err
	}
	r.checkKeys()
	return &r.read, r.problems.Err()
}

func (r *rehearsalReader) refuseUnknown(name string) {
	known := slices.DeleteFunc(slices.Clone(rehearsalFields), func(field string) bool { return field == "owner" })
	if near, ok := job.Nearest(name, known); ok {
		r.refuse(job.Pointer(name), "is not a known field; did you mean "+near+"?")
		return
	}
	r.refuse(job.Pointer(name), "is not a known field; the known ones are "+strings.Join(known, ", "))
}

func (r *rehearsalReader) readTimes() {
	q := &r.read
	q.From = r.now
	from, fromOK := r.instant("#/from", r.given["from"])
	if fromOK {
		q.From = from
	}
	q.To = q.From.AddDate(1, 0, 0)
	to, toOK := r.instant("#/to", r.given["to"])
	if toOK {
		q.To = to
	}
	q.BeginsLater(r.now)
	if r.given["from"] != nil && !fromOK || r.given["to"] != nil && !toOK {
		return
	}
	at := "#/to"
	if !toOK {
		at = "#/from"
	}
	switch {
	case !q.To.After(q.From):
		r.refuse(at, "must leave some time: to must be after from, which is now if it isn't given")
	case q.To.Sub(q.From) > rehearse.MaxSpan:
		r.refuse(at, "must leave at most 3,652 days between from and to")
	case q.To.After(schedule.LastDue):
		r.refuse(at, "must not be after the year 2199")
	case q.From.Year() < 1970:
		r.refuse("#/from", "must not be before 1970")
	}
}

// instant reads a time as scheduled_at is read; false if it is absent or wrong.
func (r *rehearsalReader) instant(pointer string, v rawjson.Value) (time.Time, bool) {
	var at time.Time
	var err error
	switch v.Kind() {
	case '"':
		at, err = schedule.ParseInstant(rawjson.Text(v))
	case '0':
		at, err = schedule.ParseUnix(string(v))
	default:
		if v != nil {
			r.refuse(pointer, "must be a datetime string or a unix timestamp")
		}
		return at, false
	}
	if err != nil {
		r.refuse(pointer, err.Error())
	}
	return at, err == nil
}

func (r *rehearsalReader) readOutages() {
	v := r.given["outages"]
	switch elements := rawjson.Elements(v); {
	case v == nil:
	case v.Kind() != '[':
		r.refuse("#/outages", `must be an array of {"at": time, "for": duration}`)
	case len(elements) > rehearse.MaxOutages:
		r.refuse("#/outages", fmt.Sprintf("must have at most %d elements, it has %d", rehearse.MaxOutages, len(elements)))
	default:
		for i, element := range elements {
			r.readOutage("#/outages/"+strconv.Itoa(i), element)
		}
	}
}

func (r *rehearsalReader) readOutage(pointer string, v rawjson.Value) {
	if v.Kind() != '{' {
		r.refuse(pointer, `must be {"at": time, "for": duration}`)
		return
	}
	var o rehearse.Outage
	has := map[string]bool{}
	for _, m := range rawjson.Members(v) {
		has[m.Name] = !rawjson.IsNull(m.Value)
		switch {
		case m.Name != "at" && m.Name != "for":
			r.refuse(pointer+job.Pointer(m.Name)[1:], "is not a known field; the known ones are at, for")
		case !has[m.Name]:
		case m.Name == "at":
			o.At, _ = r.instant(pointer+"/at", m.Value)
		default:
			o.For, _ = job.ReadDuration(m.Value, pointer+"/for", 0, job.MaxAhead, r.refuse)
		}
	}
	for _, name := range []string{"at", "for"} {
		if !has[name] {
			r.refuse(pointer+"/"+name, "is required")
		}
	}
	if o.For > 0 {
		r.read.Outages = append(r.read.Outages, o)
	}
}

// readByKey calls read for each member of an object that has values by key.
func (r *rehearsalReader) readByKey(name, of string, read func(key, pointer string, v rawjson.Value)) {
	v := r.given[name]
	switch members := rawjson.Members(v); {
	case v == nil:
	case v.Kind() != '{':
		r.refuse("#/"+name, "must be an object with "+of+" for each key of a schedule")
	case len(members) > rehearse.MaxSchedules:
		r.refuse("#/"+name, fmt.Sprintf("must have at most %d members", rehearse.MaxSchedules))
	default:
		for _, m := range members {
			if !rawjson.IsNull(m.Value) {
				read(m.Name, job.Pointer(name, m.Name), m.Value)
			}
		}
	}
}

func (r *rehearsalReader) readFail() {
	r.read.Fail = map[string]float64{}
	r.readByKey("fail", "a share from 0 to 1", func(key, pointer string, v rawjson.Value) {
		share, err := strconv.ParseFloat(string(v), 64)
		if v.Kind() != '0' || err != nil || share < 0 || share > 1 {
			r.refuse(pointer, "must be a number from 0 to 1: the share of attempts that fail")
			return
		}
		r.read.Fail[key] = share
	})
}

func (r *rehearsalReader) readDurations() {
	r.read.Duration = map[string]time.Duration{}
	r.readByKey("duration", "a duration", func(key, pointer string, v rawjson.Value) {
		if d, ok := job.ReadDuration(v, pointer, 0, job.MaxAhead, r.refuse); ok {
			r.read.Duration[key] = d
		}
	})
}

func (r *rehearsalReader) readKeys() {
	v := r.given["keys"]
	switch elements := rawjson.Elements(v); {
	case v == nil:
	case v.Kind() != '[':
		r.refuse("#/keys", "must be an array of keys of schedules")
	case len(elements) > rehearse.MaxSchedules:
		r.refuse("#/keys", fmt.Sprintf("must have at most %d elements, it has %d", rehearse.MaxSchedules, len(elements)))
	default:
		r.read.Keys = make([]string, 0, len(elements))
		for i, element := range elements {
			key, pointer := rawjson.Text(element), "#/keys/"+strconv.Itoa(i)
			switch {
			case element.Kind() != '"':
				r.refuse(pointer, "must be a string")
			case slices.Contains(r.read.Keys, key):
				r.refuse(pointer, "is given twice")
			default:
				r.read.Keys = append(r.read.Keys, key)
			}
		}
	}
}

// readRehearsed reads the schedules of a request, as those of a document of apply.
func (s *Service) readRehearsed(ctx context.Context, owner job.Owner, r *rehearsalReader) error {
	schedules := r.given["schedules"]
	if schedules == nil {
		if r.given["owner"] != nil {
			r.refuse("#/owner", "goes with schedules; leave it out")
		}
		return nil
	}
	members := []rawjson.Member{{Name: "schedules", Value: schedules}}
	if named := r.given["owner"]; named != nil {
		members = append(members, rawjson.Member{Name: "owner", Value: named})
	} else if !slices.ContainsFunc(rawjson.Elements(schedules),
		func(item rawjson.Value) bool { return rawjson.Get(item, "owner") != nil }) {
		members = append(members, rawjson.Member{Name: "owner", Value: rawjson.Value(`"rehearsal"`)})
	}
	reading := s.reading(ctx, owner)
	d, err := job.ReadDocument(rawjson.Object(members),
		func(key *string) job.ReadOptions { return reading.replaceOptions(r.read.From, key) })
	err = reading.result(err)
	problems := fault.ProblemsOf(err)
	if err != nil && len(problems) == 0 {
		return err
	}
	for _, p := range problems {
		r.problems.Add(p)
	}
	r.read.Document = d
	return nil
}

// checkKeys refuses keys that no schedule of the document has.
func (r *rehearsalReader) checkKeys() {
	if r.read.Document == nil || r.problems.Len() > 0 {
		return
	}
	known := map[string]bool{}
	for _, item := range r.read.Document.Items {
		known[item.Key] = true
	}
	r.read.refuseUnknown(known, r.refuse)
}

// refuseUnknown refuses the keys of a request that no schedule has.
func (q *Rehearsal) refuseUnknown(known map[string]bool, refuse func(pointer, detail string)) {
	const detail = "is the key of no schedule that is rehearsed"
	for i, key := range q.Keys {
		if !known[key] {
			refuse("#/keys/"+strconv.Itoa(i), detail)
		}
	}
	for _, key := range sortedKeys(q.Fail) {
		if !known[key] {
			refuse(job.Pointer("fail", key), detail)
		}
	}
	for _, key := range sortedKeys(q.Duration) {
		if !known[key] {
			refuse(job.Pointer("duration", key), detail)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}
