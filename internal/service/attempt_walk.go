package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// attemptWalk reads logs, newest first, and finds the attempts among them.
type attemptWalk struct {
	s     *Service
	ctx   context.Context
	owner job.Owner
	q     AttemptQuery
	at    job.LogPlace // after the last log that was taken
	found []Attempt

	left effort
	// latest is, for each job, the event of the log that was taken last of those
	// that begin or end an attempt.
	latest map[int64]string
}

// run takes logs until the page is full, and reports whether there may be more.
func (w *attemptWalk) run() (more bool, err error) {
	if w.q.ofJobs() {
		return w.runJobs()
	}
	for !w.left.spent() {
		q := w.q.Logs
		q.ListQuery = job.ListQuery{Limit: attemptChunk, After: w.at.Run, AfterID: w.at.ID, Bytes: w.left.bytes}
		page, err := w.s.Logs(w.ctx, w.owner, w.q.Jobs.Schedule, q)
		if err != nil {
			return false, err
		}
		if full, err := w.take(page.Items, w.q.Jobs.Schedule != uuid.Nil); full || err != nil {
			return full, err
		}
		if page.Next == nil {
			return false, nil
		}
		w.at = job.LogPlace{Run: page.Next.After, ID: page.Next.AfterID}
		if len(page.Items) == 0 { // a schedule's runs without such logs
			return true, nil
		}
	}
	return true, nil
}

// runJobs is run if the attempts are found by their jobs.
func (w *attemptWalk) runJobs() (more bool, err error) {
	if w.q.Logs.Job != nil {
		return w.runJob(*w.q.Logs.Job)
	}
	for jobs := 0; jobs < attemptJobs && !w.left.spent(); {
		if w.at.ID != uuid.Nil { // in the middle of a job
			if full, err := w.takeJob(w.at.Run); full || err != nil {
				return full, err
			}
		}
		q := w.q.Jobs
		q.ListQuery = job.ListQuery{Limit: w.q.Limit, After: w.at.Run, Bytes: max(1, w.left.bytes)}
		page, err := w.s.Jobs(w.ctx, w.owner, q)
		if err != nil {
			return false, err
		}
		w.left.spend(0, job.TotalSize(page.Items, job.Size))
		for _, j := range page.Items {
			if full, err := w.takeJob(j.Number); full || err != nil {
				return full, err
			}
		}
		if page.Next == nil {
			return false, nil
		}
		w.at = job.LogPlace{Run: page.Next.After}
		if jobs += len(page.Items); len(page.Items) == 0 { // several filters
			return true, nil
		}
	}
	return true, nil
}

// runJob is runJobs for one job, if the filters select it.
func (w *attemptWalk) runJob(ref job.Ref) (more bool, err error) {
	j, err := w.s.Store.JobGet(w.ctx, w.owner, ref)
	if fault.CodeOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil || !w.q.Jobs.Selects(j) {
		return false, err
	}
	return w.takeJob(j.Number)
}

// takeJob takes the logs of a job, from w.at on if that is within the job.
func (w *attemptWalk) takeJob(number int64) (full bool, err error) {
	for !w.left.spent() {
		q := w.q.Logs
		q.Job, q.ListQuery = &job.Ref{Number: number}, job.ListQuery{Limit: attemptChunk, Bytes: w.left.bytes}
		if w.at.Run == number {
			q.AfterID = w.at.ID
		}
		page, err := w.s.Logs(w.ctx, w.owner, uuid.Nil, q)
		if err != nil {
			return false, err
		}
		if full, err := w.take(page.Items, true); full || err != nil {
			return full, err
		}
		if page.Next == nil {
			w.at = job.LogPlace{Run: number}
			return false, nil
		}
	}
	return true, nil
}

// take adds the attempts among logs to the page. It stops before the first that
// does not fit, and reports that. byRun is set if the logs are ordered by job.
func (w *attemptWalk) take(logs []*job.Log, byRun bool) (full bool, err error) {
	for _, l := range logs {
		wanted, err := w.wants(l)
		if err != nil {
			return false, err
		}
		if wanted && len(w.found) == w.q.Limit {
			return true, nil
		}
		if wanted {
			w.found = append(w.found, Attempt{Log: l})
		}
		w.left.spend(1, job.LogSize(l))
		if l.Event == job.EventRequest || isOutcome(l) {
			w.latest[l.Job] = l.Event
		}
		if w.at = (job.LogPlace{ID: l.ID}); byRun {
			w.at.Run = l.Job
		}
	}
	return false, nil
}

// wants reports whether a log stands for an attempt of the page: that of its
// outcome does, and that of a request without an outcome.
func (w *attemptWalk) wants(l *job.Log) (bool, error) {
	if isOutcome(l) {
		return w.q.Match == nil || w.q.Match(l), nil
	}
	if l.Event != job.EventRequest || w.q.Match != nil {
		return false, nil
	}
	switch newer := w.latest[l.Job]; {
	case newer == job.EventRequest: // this attempt was aborted
		return true, nil
	case newer != "":
		return false, nil
	}
	outcome, bytes, err := w.s.nextOf(w.ctx, w.owner, l)
	w.left.spend(0, bytes)
	return outcome == nil, err
}
