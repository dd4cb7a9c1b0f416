package qstash

import (
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// shownFailed is a failed run in the dead letter queue.
type shownFailed struct {
	RunID  string       `json:"workflowRunId"`
	RunURL string       `json:"workflowUrl"`
	RunAt  int64        `json:"workflowCreatedAt"`
	Labels []string     `json:"labels,omitempty"`
	Report *shownReport `json:"failureCallbackInfo,omitempty"`
	shownDead
}

// listFailedRuns lists the failed runs.
func (c *call) listFailedRuns() error {
	f, err := c.runFilter(defaultCount, true)
	if err != nil {
		return err
	}
	runs, cursor, err := c.findRuns(f, failedRun)
	if err != nil {
		return err
	}
	ctx, limits, size := c.Request.Context(), c.limitReader(), 0
	list := struct {
		Messages []shownFailed `json:"messages"`
		Cursor   string        `json:"cursor,omitempty"`
	}{[]shownFailed{}, cursor}
	for _, r := range runs {
		j, err := c.api.Service.Job(ctx, c.Owner, job.Ref{UUID: r.FailedJob})
		if err != nil {
			if err = noneIfGone(err); err == nil {
				continue
			}
			return err
		}
		dead, err := c.showDead(ctx, j, limits)
		if err != nil {
			return err
		}
		report, err := c.report(ctx, r)
		if err != nil {
			return err
		}
		list.Messages = append(list.Messages, shownFailed{r.ID, r.URL, r.CreatedAt.UnixMilli(), r.LabelList(), report, dead})
		if size += len(j.Args) + len(dead.Body); size > job.PageBytes {
			list.Cursor = (&service.RunCursor{CreatedAt: r.CreatedAt, ID: r.ID}).String()
			break
		}
	}
	return c.write(list)
}

// eachFailed calls do for the failed runs that are named or selected.
func (c *call) eachFailed(do func(*workflow.Run) error) (cursor string, err error) {
	f, err := c.runFilter(defaultCount, true)
	if err != nil {
		return "", err
	}
	runs, cursor, err := c.findRuns(f, failedRun)
	if err != nil {
		return "", err
	}
	if f.ids != nil && len(runs) < len(f.ids) {
		return "", noDead(strings.Join(f.ids, ", "))
	}
	for _, r := range runs {
		if err := do(r); err != nil {
			return "", err
		}
	}
	return cursor, nil
}

// deleteFailedRuns removes failed runs from the queue.
func (c *call) deleteFailedRuns() error {
	result := struct {
		Deleted int    `json:"deleted"`
		Cursor  string `json:"cursor,omitempty"`
	}{}
	cursor, err := c.eachFailed(func(r *workflow.Run) error {
		changed, err := c.api.Service.ArchiveRun(c.Request.Context(), c.Owner, r.ID)
		if changed {
			result.Deleted++
		}
		return err
	})
	if err != nil {
		return err
	}
	result.Cursor = cursor
	return c.write(result)
}

func (c *call) resumeRuns() error  { return c.repeatRuns(true) }
func (c *call) restartRuns() error { return c.repeatRuns(false) }

// repeatRuns resumes or restarts failed runs.
func (c *call) repeatRuns(resume bool) error {
	o, err := ReadOptions(c.Request.Header)
	if err != nil {
		return err
	}
	if err := (&message{Options: o}).prepare(); err != nil {
		return err
	}
	if err := c.define(o); err != nil {
		return err
	}
	var changes fields
	if o.Retries >= 0 {
		changes.Number("retries", int64(o.Retries))
	}
	if o.RetryDelay != "" {
		changes.Text("retry_delay", o.RetryDelay)
	}
	if o.FlowControl != "" {
		changes.Texts("limits", []string{limitKey(o.FlowControl)})
	}
	result := struct {
		Runs   []triggered `json:"workflowRuns"`
		Cursor string      `json:"cursor,omitempty"`
	}{Runs: []triggered{}}
	result.Cursor, err = c.eachFailed(func(r *workflow.Run) error {
		again, err := c.api.Service.RepeatRun(c.Request.Context(), c.Owner, r.ID, resume, changes.Fields)
		if err == nil {
			result.Runs = append(result.Runs, triggered{RunID: again.ID, CreatedAt: again.CreatedAt.UnixMilli()})
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.write(result)
}

// retryReport calls the failure function of a failed run again.
func (c *call) retryReport() error {
	r, err := c.namedRun(c.Request.Context(), c.values[0])
	if err == nil && (r == nil || !failedRun(r)) {
		err = noDead(c.values[0])
	}
	if err != nil {
		return err
	}
	if r, err = c.api.Service.RetryReport(c.Request.Context(), c.Owner, r.ID); err != nil {
		return err
	}
	return c.write(triggered{RunID: r.ID, CreatedAt: r.CreatedAt.UnixMilli()})
}
