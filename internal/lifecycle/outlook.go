package lifecycle

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// PointsOf returns the points of its schedule's grid that a run stands for; nil for
// a one-off job. skipped are the run's logs of the event [job.EventSkipped]; s is
// nil if the schedule was deleted. Of a run that is under way it includes the
// points that passed before its attempt started.
func PointsOf(j *job.Job, s *job.Schedule, skipped []*job.Log) *schedule.Points {
	if j.ScheduleID == uuid.Nil {
		return nil
	}
	all := schedule.Points{Count: 1, From: j.ScheduledAt, To: j.ScheduledAt}
	for _, log := range skipped {
		if points, ok := readSkip(log); ok {
			all = joined(all, points)
		}
	}
	if p := planOf(s); p != nil && !j.State.Final() {
		all = joined(all, p.late(j, j.AttemptedAt))
	}
	return &all
}

// joined returns two sets of points as one.
func joined(a, b schedule.Points) schedule.Points {
	if b.Count == 0 {
		return a
	}
	a.Count += b.Count
	if b.From.Before(a.From) {
		a.From = b.From
	}
	a.To = schedule.Later(a.To, b.To)
	return a
}

func readSkip(log *job.Log) (schedule.Points, bool) {
	if log.Event != job.EventSkipped {
		return schedule.Points{}, false
	}
	var p schedule.Points
	var err [3]error
	p.Count, err[0] = strconv.ParseInt(string(rawjson.Get(log.Payload, "count")), 10, 64)
	p.From, err[1] = schedule.ParseInstant(rawjson.Text(rawjson.Get(log.Payload, "from")))
	p.To, err[2] = schedule.ParseInstant(rawjson.Text(rawjson.Get(log.Payload, "to")))
	return p, err == [3]error{}
}

// RunsLeft returns how many runs a schedule can still have, those that are
// unfinished included; nil if it has no max_runs. unfinished is its unfinished job,
// or nil.
func RunsLeft(s *job.Schedule, unfinished *job.Job) *int64 {
	spec := job.ReadSpec(s.Args)
	if spec.MaxRuns == 0 {
		return nil
	}
	left := max(0, spec.MaxRuns-runsOf(s, unfinished))
	return &left
}

// runsOf returns how many runs of a schedule have counted for max_runs.
func runsOf(s *job.Schedule, unfinished *job.Job) int64 {
	if unfinished != nil {
		return unfinished.Runs
	}
	return s.Runs
}

// Upcoming returns up to limit due times of a schedule, in order, the first of
// which is that of its pending job: none if it is disabled.
func Upcoming(s *job.Schedule, unfinished *job.Job, now time.Time, limit int) []time.Time {
	p := planOf(s)
	if p == nil || !s.Live() {
		return nil
	}
	pending := unfinished != nil && unfinished.State == job.Available
	if left := RunsLeft(s, unfinished); left != nil {
		if unfinished != nil && !pending {
			*left-- // the run under way, or to be retried
		}
		limit = int(max(0, min(*left, int64(limit))))
	}
	var due []time.Time
	after := schedule.Later(now.Add(-1), p.Since)
	if unfinished != nil {
		after = schedule.Later(after, unfinished.ScheduledAt)
	}
	if pending && limit > 0 {
		due = append(due, unfinished.ScheduledAt)
	}
	for len(due) < limit {
		next := p.grid.Next(time.Time{}, after)
		if next.IsZero() {
			break
		}
		due, after = append(due, next), next
	}
	return due
}

func skipReason(log *job.Log) string { return rawjson.Text(rawjson.Get(log.Payload, "reason")) }
