package client

import (
	"net/url"
	"strconv"
	"time"
)

// Page says how a list is read.
type Page struct {
	// PageSize is how many records one call fetches, 1 to 100; 100 if zero. The
	// iterator goes on to the end whatever it is.
	PageSize int
	// OrderBy is a field and a direction, as in "scheduled_at,desc". Empty is the
	// default order, the newest first, in which no record is missed or repeated.
	OrderBy string
}

// JobFilter selects jobs; all of its fields must match.
type JobFilter struct {
	Page
	// State is one of the states of jobs, or Scheduled.
	State          string
	ScheduleID     string
	IdempotencyKey string
	// Parent is the run with a group that became the jobs; 0 for any.
	Parent int64
	// Tags must all be there.
	Tags []string
	// Host is the host of the URL in lower case, without the port.
	Host string
	// Name is exact. Search is part of a name, url or key.
	Name   string
	Search string
	// ErrorKind is how the latest attempt that has ended failed, such as "timeout".
	ErrorKind string
	// Since and Until are about when jobs were created.
	Since, Until time.Time
}

// ScheduleFilter selects schedules.
type ScheduleFilter struct {
	Page
	Tags []string
	// NextRunAt has the records say when their next runs are due.
	NextRunAt bool
}

// LogFilter selects log entries.
type LogFilter struct {
	Page
	JobID        int64
	ScheduleID   string
	Event        string
	Since, Until time.Time
}

func (p Page) values() url.Values {
	size := p.PageSize
	setDefault(&size, 100)
	values := url.Values{"limit": {strconv.Itoa(size)}}
	put(values, "order_by", p.OrderBy)
	return values
}

func (f JobFilter) values() url.Values {
	values := f.Page.values()
	put(values, "state", f.State)
	put(values, "schedule_id", f.ScheduleID)
	put(values, "idempotency_key", f.IdempotencyKey)
	put(values, "host", f.Host)
	put(values, "name", f.Name)
	put(values, "error_kind", f.ErrorKind)
	if f.Parent != 0 {
		values.Set("parent", strconv.FormatInt(f.Parent, 10))
	}
	put(values, "q", f.Search)
	putTags(values, f.Tags)
	putTime(values, "since", f.Since)
	putTime(values, "until", f.Until)
	return values
}

func (f ScheduleFilter) values() url.Values {
	values := f.Page.values()
	putTags(values, f.Tags)
	if f.NextRunAt {
		values.Set("include", "next_run_at")
	}
	return values
}

func (f LogFilter) values() url.Values {
	values := f.Page.values()
	if f.JobID != 0 {
		values.Set("job_id", strconv.FormatInt(f.JobID, 10))
	}
	put(values, "schedule_id", f.ScheduleID)
	put(values, "event", f.Event)
	putTime(values, "since", f.Since)
	putTime(values, "until", f.Until)
	return values
}

func put(values url.Values, name, value string) {
	if value != "" {
		values.Set(name, value)
	}
}

func putTags(values url.Values, tags []string) {
	if len(tags) > 0 {
		values["tag"] = tags
	}
}

func putTime(values url.Values, name string, at time.Time) {
	if !at.IsZero() {
		values.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
}
