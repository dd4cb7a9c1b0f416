package job

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// MaxAfter is how many jobs a request can wait for.
const MaxAfter = 100

// WaitingDue is the due time of a job while it waits for others: after every due time of
// a job that doesn't. Its requested time is in ScheduledAt meanwhile.
var WaitingDue = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// afterField is the field that names the jobs that a job waits for.
const afterField = "after"

// AfterOn is which ends of the others a job waits for.
type AfterOn string

// The values of on.
const (
	// AfterCompleted cancels the job if one of the others is not completed.
	AfterCompleted AfterOn = "completed"
	// AfterFinal starts the job however the others have ended.
	AfterFinal AfterOn = "final"
)

var afterOns = []string{string(AfterCompleted), string(AfterFinal)}

// After is what a job waits for. The zero After waits for nothing.
type After struct {
	Jobs []rawjson.Value // ids and "key:KEY", as sent
	On   AfterOn
}

// AwaitedJob is a job that another one waits for.
type AwaitedJob struct {
	Number int64
	State  State // as it was read, outside of the transaction
}

// JobName names a job in a request: by its number or UUID, or by the key that it holds.
type JobName struct {
	Ref Ref
	Key string // "" if Ref is set
}

// keyPrefix begins the name of a job by its key.
const keyPrefix = "key:"

// readJobName reads a name; ok is false if the value is none.
func readJobName(v rawjson.Value) (n JobName, ok bool) {
	switch v.Kind() {
	case '0':
		number, err := strconv.ParseInt(string(v), 10, 64)
		return JobName{Ref: Ref{Number: number}}, err == nil && number > 0
	case '"':
		text := rawjson.Text(v)
		if id, ok := ParseID(text); ok && id != uuid.Nil {
			return JobName{Ref: Ref{UUID: id}}, true
		}
		key, named := strings.CutPrefix(text, keyPrefix)
		return JobName{Key: key}, named && key != "" && len(key) <= 4*255 && !strings.ContainsRune(key, 0)
	}
	return JobName{}, false
}

// readAfter reads the jobs that a job waits for.
func readAfter(r *reader, f *Field, v rawjson.Value) {
	if v.Kind() != '{' {
		r.refuse(Pointer(f.Name), `must be an object with jobs and on, as in {"jobs": [17, "key:import"], "on": "completed"}`)
		return
	}
	var list rawjson.Value
	for _, m := range rawjson.Members(v) {
		switch {
		case m.Name == "jobs":
			list = m.Value
		case m.Name != "on":
			r.refuse(Pointer(f.Name, m.Name), "is not a known field; the known ones are jobs and on")
		case !rawjson.IsNull(m.Value) && !slices.Contains(afterOns, rawjson.Text(m.Value)):
			r.refuse(Pointer(f.Name, m.Name), "must be one of %s", strings.Join(afterOns, ", "))
		}
	}
	if why := r.opts.NoAfter; why != "" {
		r.refuse(Pointer(f.Name), "%s", why)
		return
	}
	elements := rawjson.Elements(list)
	if list.Kind() != '[' || len(elements) == 0 || len(elements) > MaxAfter {
		r.refuse(Pointer(f.Name, "jobs"), "must be a list of 1 to %d ids of jobs and key:KEY", MaxAfter)
		return
	}
	var names []JobName
	var places []int // of the names among the elements
	for i, element := range elements {
		name, ok := readJobName(element)
		if !ok {
			r.refuse(Pointer(f.Name, "jobs", strconv.Itoa(i)), "must be the id of a job, or key:KEY as a string")
			continue
		}
		names, places = append(names, name), append(places, i)
	}
	if len(names) > 0 && r.opts.FindJobs != nil {
		r.findAwaited(f, names, places)
	}
}

// findAwaited reads the jobs with these names, which have these places in the list.
func (r *reader) findAwaited(f *Field, names []JobName, places []int) {
	for i, found := range r.opts.FindJobs(names) {
		switch {
		case found == nil && names[i].Key != "":
			r.refuse(Pointer(f.Name, "jobs", strconv.Itoa(places[i])), "is held by no job; give the id of the job, or create it first")
		case found == nil:
			r.refuse(Pointer(f.Name, "jobs", strconv.Itoa(places[i])), "is not one of your jobs, or was removed")
		case !slices.ContainsFunc(r.draft.Awaited, func(a AwaitedJob) bool { return a.Number == found.Number }):
			r.draft.Awaited = append(r.draft.Awaited, *found)
		}
	}
}

// checkAfter verifies what else a job that waits for others may have.
func checkAfter(r *reader, _ *Field, _ rawjson.Value) { r.checkWaiting() }

func (r *reader) checkWaiting() {
	switch action := rawjson.Text(r.fields[conflictField]); action {
	case OnConflictReplace, OnConflictDebounce:
		r.refuse(Pointer(conflictField), "can't be %s for a job that waits for others; give return or refuse", action)
	}
}

func afterOf(v rawjson.Value) After {
	a := After{On: AfterCompleted}
	for _, m := range rawjson.Members(v) {
		switch m.Name {
		case "jobs":
			a.Jobs = rawjson.Elements(m.Value)
		case "on":
			if on := AfterOn(rawjson.Text(m.Value)); on != "" {
				a.On = on
			}
		}
	}
	return a
}

// BatchSummary is how the jobs of a batch have ended, for its then.
type BatchSummary struct {
	Completed, Discarded, Cancelled int64
	Failed                          []int64 // the first MaxFailedJobs discarded ones
}

// MaxFailedJobs is how many failed jobs a BatchSummary lists.
const MaxFailedJobs = 100

// batchMember is the member of the body of a then that has the summary.
const batchMember = "$batch"

// MaxBatchSummary is the greatest size of the summary in a body.
const MaxBatchSummary = 2500

func (s *BatchSummary) append(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"completed":`...), s.Completed, 10)
	b = strconv.AppendInt(append(b, `,"discarded":`...), s.Discarded, 10)
	b = strconv.AppendInt(append(b, `,"cancelled":`...), s.Cancelled, 10)
	b = append(b, `,"failed_jobs":[`...)
	for i, number := range s.Failed {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, number, 10)
	}
	return append(b, `]}`...)
}

// Summarize adds a summary to the body of a then, if that is an object or absent. The
// error is that of a Sealer which can't open or seal a hidden body; it can be shown.
func Summarize(j *Job, s *BatchSummary, sealer Sealer) error {
	value := rawjson.Value(s.append(nil))
	members := rawjson.Members(j.Args)
	at := slices.IndexFunc(members, func(m rawjson.Member) bool { return isBody(m.Name) })
	if at < 0 {
		j.Args = rawjson.Object(append(members, rawjson.Member{Name: "body", Value: withBatch(emptyObject, value)}))
		return nil
	}
	if members[at].Name == base64Field {
		return nil
	}
	body := members[at].Value
	if j.Hidden.Body == "" {
		if body.Kind() == '{' {
			members[at].Value = withBatch(body, value)
			j.Args = rawjson.Object(members)
		}
		return nil
	}
	body, err := orPlain(sealer).Open(j.Owner.ID, hiddenBody, j.Hidden.Body)
	if err != nil || rawjson.Value(body).Kind() != '{' {
		return err
	}
	token, err := orPlain(sealer).Seal(j.Owner.ID, hiddenBody, withBatch(body, value))
	if err == nil {
		j.Hidden.Body = token
	}
	return err
}

func withBatch(body, summary rawjson.Value) rawjson.Value {
	members := slices.DeleteFunc(rawjson.Members(body), func(m rawjson.Member) bool { return m.Name == batchMember })
	return rawjson.Object(append(members, rawjson.Member{Name: batchMember, Value: summary}))
}

var afterMember = []byte(`"` + afterField + `"`)

// AfterOf returns what args wait for.
func AfterOf(args rawjson.Value) After {
	if !bytes.Contains(args, afterMember) {
		return After{}
	}
	v := rawjson.Get(args, afterField)
	if rawjson.IsNull(v) {
		return After{}
	}
	return afterOf(v)
}
