package qstash

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/service"
)

// filter selects messages. A message must have one of the values of each list that is not
// empty.
type filter struct {
	ids                                []string // of messages or dead letters; nothing else counts with them
	message                            string
	urls, hosts, paths                 []string
	topics, queues, labels, flows, ips []string
	schedules                          []string
	statuses                           []int
	state                              string
	since, until                       time.Time
	count                              int // 0 if it is not given
	cursor                             string
	shown                              int // how many events of the first job a page before has shown; from the cursor
}

// filters are the names of the parameters of a call.
type filters []string

var common = filters{"url", "topicName", "queueName", "scheduleId", "callerIp", "label", "flowControlKey", "fromDate", "toDate", "count",
	"cursor"}

var (
	forMessages = append(slices.Clone(common), "messageIds", "host", "path")
	forDead     = append(slices.Clone(common), "dlqIds", "messageId", "responseStatus", "order")
	forLogs     = append(slices.Clone(common), "messageIds", "messageId", "host", "path", "state", "groupBy", "order")
)

// Bounds of filters.
const (
	maxCount  = 1000
	maxValues = 100
)

// filter reads the parameters of a call.
func (c *call) filter(known filters) (*filter, error) {
	parameters, err := c.parameters()
	if err != nil {
		return nil, err
	}
	f := &filter{}
	lists := map[string]*[]string{
		"url": &f.urls, "host": &f.hosts, "path": &f.paths, "topicName": &f.topics, "queueName": &f.queues, "label": &f.labels,
		"flowControlKey": &f.flows, "callerIp": &f.ips, "scheduleId": &f.schedules, "messageIds": &f.ids, "dlqIds": &f.ids,
	}
	values := 0
	for name, given := range parameters {
		if !slices.Contains(known, name) {
			return nil, bad("unknown filter " + strconv.Quote(name) + "; the filters are " + strings.Join(known, ", "))
		}
		if values += len(given); values > maxValues {
			return nil, bad("there may be " + strconv.Itoa(maxValues) + " values of filters")
		}
		if list := lists[name]; list != nil {
			for _, value := range given {
				*list = append(*list, split(name, value)...)
			}
			if len(*list) > maxValues {
				return nil, bad("there may be " + strconv.Itoa(maxValues) + " values of " + name)
			}
			continue
		}
		if err := f.one(name, given[0], given); err != nil {
			return nil, err
		}
	}
	for i, host := range f.hosts {
		if name, why := job.ReadHost(host); why == "" {
			f.hosts[i] = name
		}
	}
	return f, nil
}

// split divides a list that is separated by commas. URLs and paths may have commas.
func split(name, value string) []string {
	switch name {
	case "url":
		value = strings.NewReplacer(",https://", "\x00https://", ",http://", "\x00http://").Replace(value)
		return strings.Split(value, "\x00")
	case "path":
		return strings.Split(strings.ReplaceAll(value, ",/", "\x00/"), "\x00")
	}
	return strings.Split(value, ",")
}

func (f *filter) one(name, value string, all []string) error {
	switch name {
	case "messageId":
		f.message = value
	case "state":
		f.state = value
		if !slices.Contains(logStates, value) {
			return bad("state must be one of " + strings.Join(logStates, ", "))
		}
	case "responseStatus":
		for _, text := range all {
			for part := range strings.SplitSeq(text, ",") {
				n, err := strconv.Atoi(part)
				if err != nil {
					return bad("responseStatus must be a status")
				}
				f.statuses = append(f.statuses, n)
			}
		}
	case "fromDate", "toDate":
		ms, err := strconv.ParseInt(value, 10, 64)
		if err != nil || ms < 0 || ms > 1<<52 {
			return bad(name + " must be a unix timestamp in milliseconds")
		}
		if at := time.UnixMilli(ms).UTC(); name == "fromDate" {
			f.since = at
		} else {
			f.until = at.Add(time.Millisecond) // inclusive
		}
	case "count":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return bad("count must be a whole number from 1 to " + strconv.Itoa(maxCount))
		}
		f.count = min(n, maxCount)
	case "order":
		if value != "latestFirst" {
			return bad("order must be latestFirst")
		}
	case "cursor":
		f.cursor = value
	}
	return nil
}

// query returns the selection of jobs that the store makes, and what remains to be checked
// of each.
func (f *filter) query(states []job.State) job.Query {
	q := job.Query{States: states, Since: f.since, Until: f.until}
	if len(f.labels) == 1 && job.IsTag(f.labels[0]) {
		q.Tags = f.labels
	}
	if len(f.hosts) == 1 {
		q.Host = f.hosts[0]
	}
	if len(f.urls) == 1 {
		if host := job.Host(f.urls[0]); host != "" {
			q.Host = host
		}
	}
	return q
}

// matches reports whether the filter selects a job by its args.
func (f *filter) matches(j *job.Job) bool {
	d := job.DialectIn(j.Args, job.DialectQStash)
	if d == nil {
		return false
	}
	if len(f.urls)+len(f.hosts)+len(f.paths) > 0 {
		spec := job.ReadSpec(j.Args)
		if !oneOf(f.urls, func(u string) bool { return u == spec.URL }) || !f.inURL(spec.URL) {
			return false
		}
	}
	return is(f.topics, d.Group) && is(f.queues, d.Queue) && is(f.flows, d.FlowControl) && is(f.ips, d.CallerIP) &&
		oneOf(f.labels, func(label string) bool { return slices.Contains(d.Labels, label) })
}

func (f *filter) inURL(text string) bool {
	if len(f.hosts)+len(f.paths) == 0 {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && is(f.hosts, job.Host(text)) && oneOf(f.paths, func(p string) bool { return p == u.Path || p == u.EscapedPath() })
}

// selects reports whether the filter selects a job by its own fields.
func (f *filter) selects(j *job.Job) bool {
	if len(f.schedules) > 0 && (j.ScheduleID == uuid.Nil || !slices.Contains(f.schedules, lifecycle.ScheduleID(j.ScheduleID, j.Key))) {
		return false
	}
	return true
}

// oneOf reports whether one of the values has a property; true if there are none.
func oneOf(values []string, has func(string) bool) bool {
	return len(values) == 0 || slices.ContainsFunc(values, has)
}

func is(values []string, value string) bool {
	return oneOf(values, func(v string) bool { return v == value })
}

// Bounds of a search.
const (
	look      = 2000
	maxLooked = 50_000
	page      = 100
)

// each calls do for the jobs that a filter selects, newest first, until it returns false.
// It reads at most maxLooked jobs; then it returns the cursor to continue at.
func (c *call) each(ctx context.Context, f *filter, states []job.State, do func(*job.Job) (bool, error)) error {
	_, err := c.search(ctx, f, states, do)
	return err
}

// search is each, and returns the number of the job to continue after; 0 at the end.
func (c *call) search(ctx context.Context, f *filter, states []job.State, do func(*job.Job) (bool, error)) (next int64, err error) {
	if f.ids != nil || f.message != "" {
		return 0, c.eachOf(ctx, f, states, do)
	}
	q := f.query(states)
	if err := c.bySchedule(ctx, f, &q); err != nil {
		return 0, err
	}
	if q.After, err = f.after(); err != nil {
		return 0, err
	}
	for looked := 0; looked < maxLooked; looked += look {
		q.Limit = page
		found, next, err := c.api.Service.Find(ctx, c.Owner, q, look, f.matches)
		if err != nil {
			return 0, err
		}
		for _, j := range found {
			q.After = j.Number
			if !f.selects(j) {
				continue
			}
			more, err := do(j)
			if err != nil || !more {
				return j.Number, err
			}
		}
		if next == 0 {
			return 0, nil
		}
		q.After = next
	}
	return q.After, nil
}

// bySchedule narrows a selection to the runs of one schedule.
func (c *call) bySchedule(ctx context.Context, f *filter, q *job.Query) error {
	if len(f.schedules) != 1 {
		return nil
	}
	found, err := c.findSchedule(ctx, f.schedules[0])
	if err == nil {
		q.Schedule = found.ID
	} else if fault.CodeOf(err) != fault.NotFound {
		return err
	}
	return nil
}

// after returns the job after which a page begins.
func (f *filter) after() (int64, error) {
	if f.cursor == "" {
		return 0, nil
	}
	text, shown, within := strings.Cut(f.cursor, "-")
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && within {
		f.shown, err = strconv.Atoi(shown)
	}
	if err != nil || n <= 0 || f.shown < 0 {
		return 0, bad("invalid cursor")
	}
	return n, nil
}

// eachOf is each for jobs that are named.
func (c *call) eachOf(ctx context.Context, f *filter, states []job.State, do func(*job.Job) (bool, error)) error {
	ids := f.ids
	if ids == nil {
		ids = []string{f.message}
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		ref, ok := idOf(id, messagePrefix)
		if !ok {
			if ref, ok = idOf(id, deadPrefix); !ok {
				continue
			}
		}
		j, err := c.api.Service.Job(ctx, c.Owner, ref)
		if err != nil && fault.CodeOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		if states != nil && !slices.Contains(states, j.State) || !f.matches(j) || f.ids == nil && !f.selects(j) {
			continue
		}
		if more, err := do(j); err != nil || !more {
			return err
		}
	}
	return nil
}

// named refuses a list of ids that are more than a call may name.
func (c *call) named(f *filter) error {
	if len(f.ids) > service.MaxCancel {
		return bad("a call may name " + strconv.Itoa(service.MaxCancel) + " ids")
	}
	return nil
}
