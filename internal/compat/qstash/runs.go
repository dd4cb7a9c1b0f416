package qstash

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// runStates are the states of runs as the SDK names them.
var runStates = map[workflow.State]string{
	workflow.Started: "RUN_STARTED", workflow.Succeeded: "RUN_SUCCESS", workflow.Failed: "RUN_FAILED", workflow.Cancelled: "RUN_CANCELED",
}

// runFilter selects runs.
type runFilter struct {
	ids                                    []string // of runs or failures; nothing else counts with them
	run, state                             string
	urls, labels, flows, ips, hosts, paths []string
	exact                                  bool
	created                                int64
	since, until                           time.Time
	count                                  int
	after                                  service.RunCursor
}

// ignored are parameters that change nothing here.
var ignored = []string{"groupBy", "trimBody", "source", "messageId"}

// runFilter reads the parameters of a call. exact is whether URLs match as a whole unless
// the call says otherwise.
func (c *call) runFilter(most int, exact bool) (*runFilter, error) {
	query, err := c.parameters()
	if err != nil {
		return nil, err
	}
	f := &runFilter{count: most, exact: exact}
	lists := map[string]*[]string{
		"workflowRunIds": &f.ids, "dlqIds": &f.ids, "workflowUrl": &f.urls, "url": &f.urls, "label": &f.labels, "flowControlKey": &f.flows,
		"callerIp": &f.ips,
		"host":     &f.hosts, "path": &f.paths,
	}
	values := 0
	for name, given := range query {
		if values += len(given); values > maxValues {
			return nil, bad("there may be " + strconv.Itoa(maxValues) + " values of filters")
		}
		if list := lists[name]; list != nil {
			for _, value := range given {
				if name == "workflowUrl" {
					name = "url"
				}
				*list = append(*list, split(name, value)...)
			}
			continue
		}
		if slices.Contains(ignored, name) && (name != "messageId" || c.reads()) {
			continue
		}
		if err := f.one(name, given[0]); err != nil {
			return nil, err
		}
	}
	if len(f.ids) > maxValues {
		return nil, bad("a call may name " + strconv.Itoa(maxValues) + " ids")
	}
	return f, nil
}

func (f *runFilter) one(name, value string) error {
	switch name {
	case "workflowRunId":
		f.run = value
	case "workflowUrlExactMatch":
		f.exact = value == "true"
	case "state":
		if f.state = value; !slices.Contains([]string{"RUN_STARTED", "RUN_SUCCESS", "RUN_FAILED", "RUN_CANCELED"}, value) {
			return bad("state must be one of RUN_STARTED, RUN_SUCCESS, RUN_FAILED, RUN_CANCELED")
		}
	case "workflowCreatedAt":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 {
			return bad("workflowCreatedAt must be a unix timestamp in milliseconds")
		}
		f.created = n
	case "fromDate", "toDate", "count":
		var times filter
		if err := times.one(name, value, nil); err != nil {
			return err
		}
		if name == "count" {
			f.count = min(times.count, f.count)
		} else if name == "fromDate" {
			f.since = times.since
		} else {
			f.until = times.until
		}
	case "cursor":
		var ok bool
		if f.after, ok = service.ReadRunCursor(value); !ok {
			return bad("invalid cursor")
		}
	default:
		return bad("unknown filter " + strconv.Quote(name) + " of workflow runs")
	}
	return nil
}

func (f *runFilter) selects(r *workflow.Run) bool {
	matchesURL := func(u string) bool { return u == r.URL || !f.exact && strings.HasPrefix(r.URL, u) }
	return (f.run == "" || f.run == r.ID) && (f.state == "" || f.state == runStates[r.State]) &&
		(f.created == 0 || f.created == r.CreatedAt.UnixMilli()) &&
		oneOf(f.urls, matchesURL) && is(f.flows, r.FlowControl) && is(f.ips, r.CallerIP) &&
		oneOf(f.labels, func(label string) bool { return slices.Contains(r.LabelList(), label) }) &&
		(f.since.IsZero() || !r.CreatedAt.Before(f.since)) && (f.until.IsZero() || r.CreatedAt.Before(f.until)) &&
		(&filter{hosts: f.hosts, paths: f.paths}).inURL(r.URL)
}

// findRuns returns the runs that a filter and a function select.
func (c *call) findRuns(f *runFilter, also func(*workflow.Run) bool) (found []*workflow.Run, cursor string, err error) {
	ctx := c.Request.Context()
	if f.ids != nil || f.run != "" {
		ids := f.ids
		if ids == nil {
			ids = []string{f.run}
		}
		for _, id := range ids {
			r, err := c.namedRun(ctx, id)
			if err != nil {
				return nil, "", err
			}
			if r != nil && also(r) && (f.ids != nil || f.selects(r)) {
				found = append(found, r)
			}
		}
		return found, "", nil
	}
	found, next, err := c.api.Service.FindRuns(ctx, c.Owner, f.after, f.count,
		func(r *workflow.Run) bool { return also(r) && f.selects(r) })
	return found, next.String(), err
}

// namedRun returns the run with an id, or with that of its failure; nil if there is none.
func (c *call) namedRun(ctx context.Context, id string) (*workflow.Run, error) {
	if ref, ok := idOf(id, deadPrefix); ok {
		j, err := c.api.Service.Job(ctx, c.Owner, ref)
		if err != nil {
			return nil, noneIfGone(err)
		}
		if id, _ = job.RunOf(j.Args); id == "" {
			return nil, nil
		}
		r, err := c.api.Service.Run(ctx, c.Owner, id)
		if err == nil && r.FailedJob != ref.UUID {
			return nil, nil
		}
		return r, noneIfGone(err)
	}
	r, err := c.api.Service.Run(ctx, c.Owner, id)
	return r, noneIfGone(err)
}

func noneIfGone(err error) error {
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// cancelSearches is how many searches for runs to cancel a call makes; each looks at a
// bounded number of runs.
const cancelSearches = 3

// cancelRuns cancels the runs that are named or that filters select. If there may be more,
// its answer has a cursor to go on.
func (c *call) cancelRuns() error {
	f, err := c.runFilter(defaultCount, false)
	if err != nil {
		return err
	}
	var runs []*workflow.Run
	var cursor string
	for range cancelSearches {
		found, next, err := c.findRuns(f, func(r *workflow.Run) bool { return r.State.Live() })
		if err != nil {
			return err
		}
		runs, cursor = append(runs, found...), next
		if cursor == "" || len(runs) >= f.count {
			break
		}
		if err := f.one("cursor", cursor); err != nil {
			return err
		}
	}
	n := 0
	for _, r := range runs {
		done, err := c.api.Service.CancelRun(c.Request.Context(), c.Owner, r.ID)
		if err != nil {
			return err
		}
		if done {
			n++
		}
	}
	return c.write(struct {
		cancelled
		Cursor string `json:"cursor,omitempty"`
	}{cancelled{n}, cursor})
}
