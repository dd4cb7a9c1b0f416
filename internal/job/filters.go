package job

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Filter describes a filter of lists. Everything that depends on which filters exist
// derives from the table of them: the readers of parameters and of an operation's
// filter, the conditions of both stores, the inputs of the dashboard, the flags of
// the command line, and the tests that compare the API document and the clients with
// the table.
type Filter struct {
	Name   string // of the query parameter
	Member string // of an operation's filter, if it is not called Name there
	In     Lists

	// Column is the column of jobs that has the value, and Index the name of its
	// index in stores, without the table's. Both are empty if a store has conditions
	// of its own for the filter. Of the filters that are given, the index of the one
	// with the lowest Rank is read.
	Column, Index string
	Rank          int

	// field returns where the value is stored. Its type says how text is read; "", nil
	// and zero mean any.
	field func(s *Selection) any
	// check verifies and normalizes a text; nil if there is nothing to check.
	check func(text string) (value, why string)
	// of returns a job's value as Terms does; nil if it has none.
	of func(j *Job, l *Labels) any

	// Label, Hint and Placeholder describe the input, Chip the value in a list that is
	// filtered. A filter without Label has no input.
	Label, Hint, Placeholder, Chip string
	OnlySet                        bool // the input is shown only with a value
	// Flag is the flag of the command line: --Short.
	Flag Flag
}

// Lists are the lists that a filter works on.
type Lists uint8

// The lists.
const (
	OfJobs       Lists = 1 << iota // and counts of jobs
	OfOperations                   // the jobs of an operation
	OfSchedules
	OfLogs
	OfAttempts
)

// Selection is what filters select.
type Selection struct {
	Query Query
	// ErrorKind selects jobs whose latest attempt that has ended failed with this
	// kind; "" selects all.
	ErrorKind string
	Job       *Ref   // of logs; nil: any
	Event     string // of logs; "": any
}

// Logs returns the filters of logs, except the schedule.
func (s *Selection) Logs() LogQuery {
	return LogQuery{Job: s.Job, Event: s.Event, Since: s.Query.Since, Until: s.Query.Until}
}

// Query selects jobs.
type Query struct {
	ListQuery
	States   []State   // none: any
	Schedule uuid.UUID // uuid.Nil: any
	Key      *string
	Tags     []string // the job has all of them
	Host     string   // of the url, as in Labels; "": any
	Name     *string
	Parent   int64 // the run with a group that became the job; 0: any
	// Since (inclusive) and Until (exclusive) bound InsertedAt. Zero: any.
	Since, Until time.Time
}

const timeExample = "2026-03-01 09:00"

// filterTable is the table of filters, in the order of their inputs.
var filterTable = []Filter{
	{
		Name: "state", In: OfJobs | OfOperations, field: func(s *Selection) any { return &s.Query.States }, Label: "State",
		Flag: Flag{"STATE", "Only jobs in a state: ${states}."},
	},
	{
		Name: "tag", Member: "tags", In: OfJobs | OfOperations | OfAttempts, Column: TagColumn, Rank: 4, field: tagsField,
		Label: "Tags", Hint: "A job must have all of them.", Placeholder: "billing tenant:42", Chip: "tag",
		Flag: Flag{"TAG", "Only jobs with this tag; may be repeated, then only jobs with all of them."},
	},
	{
		Name: "tag", In: OfSchedules, field: tagsField, Label: "Tags", Placeholder: "billing tenant:42", Chip: "tag",
		Flag: Flag{"TAG", "Only schedules with this tag; may be repeated, then only those with all of them."},
	},
	{
		Name: "host", In: OfJobs | OfOperations | OfAttempts, Column: "host", Index: "host", Rank: 6, check: ReadHost,
		field: func(s *Selection) any { return &s.Query.Host }, of: func(_ *Job, l *Labels) any { return l.Host },
		Label: "Host", Hint: "Of the URL, without a port.", Placeholder: "api.example.com", Chip: "host",
		Flag: Flag{"HOST", "Only jobs whose url has this host name."},
	},
	{
		Name: "name", In: OfJobs | OfOperations | OfAttempts, Column: "name", Index: "name", Rank: 5,
		field: func(s *Selection) any { return &s.Query.Name }, of: func(j *Job, _ *Labels) any { return given(j.Name) },
		Label: "Name", Hint: "The exact name.", Chip: "name",
		Flag: Flag{"NAME", "Only jobs with exactly this name."},
	},
	{
		Name: "schedule_id", In: OfJobs | OfOperations, Column: "schedule_id", Index: "schedule", Rank: 2,
		field: scheduleField, of: func(j *Job, _ *Labels) any { return j.ScheduleID },
		Label: "Schedule", Hint: "The id of a schedule.", Placeholder: "id", Chip: "schedule",
		Flag: Flag{"ID", "Only runs of this schedule: its id, or key:KEY."},
	},
	{
		Name: "idempotency_key", In: OfJobs, Column: "key", Index: "key", Rank: 3,
		field: func(s *Selection) any { return &s.Query.Key }, of: func(j *Job, _ *Labels) any { return given(j.Key) },
		Label: "Idempotency key", Chip: "key", OnlySet: true,
		Flag: Flag{"KEY", "Only jobs with this idempotency key."},
	},
	{
		Name: "parent", In: OfJobs, Column: "parent", Index: "parent", Rank: 1,
		field: func(s *Selection) any { return &s.Query.Parent }, of: func(j *Job, _ *Labels) any { return j.Parent },
		Label: "Parent", Chip: "of run", OnlySet: true,
		Flag: Flag{"ID", "Only the jobs that this run of a schedule with a group became: its number."},
	},
	{
		Name: "error_kind", In: OfJobs | OfOperations, field: func(s *Selection) any { return &s.ErrorKind }, check: readErrorKind,
		Label: "Kind of error", Hint: "Of the last attempt.", Placeholder: "timeout", Chip: "error",
		Flag: Flag{"KIND", "Only jobs whose last attempt failed so: timeout, connect, status and so on."},
	},
	{
		Name: "since", In: OfJobs | OfOperations, field: sinceField, Label: "Created from, in UTC", Placeholder: timeExample,
		Chip: "created from",
		Flag: Flag{"TIME", "Only jobs created from this time on, such as 2026-01-31T09:00:00Z."},
	},
	{
		Name: "until", In: OfJobs | OfOperations, field: untilField, Label: "Created before, in UTC", Placeholder: "2026-03-01 10:00",
		Chip: "created before",
		Flag: Flag{"TIME", "Only jobs created before this time."},
	},
	{
		Name: "job_id", In: OfLogs | OfAttempts, field: func(s *Selection) any { return &s.Job }, Label: "Job", Placeholder: "number or id",
		Flag: Flag{"ID", "Only entries of this job: its number or id."},
	},
	{
		Name: "schedule_id", In: OfLogs | OfAttempts, field: scheduleField, Label: "Schedule", Placeholder: "id",
		Flag: Flag{"ID", "Only entries of this schedule's runs: its id, or key:KEY."},
	},
	{
		Name: "event", In: OfLogs, field: func(s *Selection) any { return &s.Event }, check: ReadEvent, Label: "Event",
		Flag: Flag{"EVENT", "Only entries of this event, such as worker.http.error."},
	},
	{
		Name: "since", In: OfLogs | OfAttempts, field: sinceField, Label: "From, in UTC", Placeholder: timeExample,
		Flag: Flag{"TIME", "Only entries from this time on, such as 2026-01-31T09:00:00Z."},
	},
	{
		Name: "until", In: OfLogs | OfAttempts, field: untilField, Label: "Before, in UTC", Placeholder: "2026-03-01 10:00",
		Flag: Flag{"TIME", "Only entries before this time."},
	},
}

func tagsField(s *Selection) any     { return &s.Query.Tags }
func scheduleField(s *Selection) any { return &s.Query.Schedule }
func sinceField(s *Selection) any    { return &s.Query.Since }
func untilField(s *Selection) any    { return &s.Query.Until }

// given returns a text, or nil if there is none.
func given(text *string) any {
	if text == nil {
		return nil
	}
	return *text
}

// FiltersOf returns the filters of a list, in the order of their inputs.
func FiltersOf(list Lists) []*Filter {
	var all []*Filter
	for i := range filterTable {
		if filterTable[i].In&list != 0 {
			all = append(all, &filterTable[i])
		}
	}
	return all
}

// FilterNames returns the query parameters of a list's filters.
func FilterNames(list Lists) []string {
	var names []string
	for _, f := range FiltersOf(list) {
		names = append(names, f.Name)
	}
	return names
}

// InFilter returns the name of the filter in an operation's filter.
func (f *Filter) InFilter() string { return cmp.Or(f.Member, f.Name) }

// Short returns the name of the flag, and of the input in lists of logs.
func (f *Filter) Short() string {
	return strings.ReplaceAll(strings.TrimSuffix(f.Name, "_id"), "_", "-")
}

// Repeats reports whether the filter may be given several times.
func (f *Filter) Repeats() bool {
	_, list := f.field(&Selection{}).(*[]string)
	return list
}

// TagColumn is the column of a term that stands for a tag, of which stores have a table.
const TagColumn = "tag"

// Term is a column of jobs with the value that it must have: a string, an int64 or
// a uuid.UUID.
type Term struct {
	Column, Index string
	Value         any
}

// termFilters are the filters with a column, the one whose index is read first first.
var termFilters = func() []*Filter {
	all := slices.DeleteFunc(FiltersOf(OfJobs|OfOperations), func(f *Filter) bool { return f.Column == "" })
	slices.SortFunc(all, func(a, b *Filter) int { return cmp.Compare(a.Rank, b.Rank) })
	return all
}()

// Terms returns the filters of q that select by a column or a tag. The index of the
// first selects fewest jobs, as a rule.
func (q Query) Terms() []Term {
	s := Selection{Query: q}
	var terms []Term
	for _, f := range termFilters {
		terms = f.appendTerms(terms, &s)
	}
	return terms
}

func (f *Filter) appendTerms(terms []Term, s *Selection) []Term {
	add := func(value any) { terms = append(terms, Term{f.Column, f.Index, value}) }
	switch v := f.field(s).(type) {
	case *[]string:
		for _, text := range *v {
			add(text)
		}
	case *string:
		if *v != "" {
			add(*v)
		}
	case **string:
		if *v != nil {
			add(**v)
		}
	case *int64:
		if *v != 0 {
			add(*v)
		}
	case *uuid.UUID:
		if *v != uuid.Nil {
			add(*v)
		}
	}
	return terms
}

// Selects reports whether the terms of q select a job. States and times are not
// compared.
func (q Query) Selects(j *Job) bool {
	s, labels := Selection{Query: q}, LabelsOf(j.Args)
	for _, f := range termFilters {
		for _, t := range f.appendTerms(nil, &s) {
			if f.Column == TagColumn {
				if !slices.Contains(labels.Tags, t.Value.(string)) {
					return false
				}
			} else if f.of(j, &labels) != t.Value {
				return false
			}
		}
	}
	return true
}
