package records

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// FailedJobs implements store.Summaries. It reads the index of failed jobs.
func (r *Records) FailedJobs(ctx context.Context, owner job.Owner, since time.Time, limit int) (found []job.FailedJob, err error) {
	err = r.engine.Read(ctx, Pages, failedJobs(&found, `INDEXED BY jobs_failed WHERE account = $1 AND discarded_at >= $2
		ORDER BY discarded_at DESC, number DESC LIMIT $3`, owner.Number, since, limit))
	return found, err
}

// JobOrigins implements store.Summaries. One statement reads all: the overview asks for
// hundreds, and to plan a statement costs several times as much as a lookup.
func (r *Records) JobOrigins(ctx context.Context, owner job.Owner, numbers []int64) (found []job.FailedJob, err error) {
	err = r.engine.Read(ctx, Pages, failedJobs(&found, `NOT INDEXED WHERE account = $1 AND number = EACH($2)`, owner.Number, numbers))
	return found, err
}

// failedJobs reads the jobs that the rest of a statement selects.
func failedJobs(found *[]job.FailedJob, rest string, args ...any) Query {
	return Query{
		SQL:  `SELECT number, name, schedule_id, coalesce(host, ''), coalesce(rerun_of, 0), inserted_at, discarded_at FROM jobs ` + rest,
		Args: args, Start: func() { *found = nil },
		Row: func(row Row) error {
			var f job.FailedJob
			err := row.Scan(&f.Number, &f.Name, &f.ScheduleID, &f.Host, &f.RerunOf, &f.InsertedAt, &f.DiscardedAt)
			*found = append(*found, f)
			return err
		},
	}
}

// SchedulesFailing implements store.Summaries.
func (r *Records) SchedulesFailing(ctx context.Context, owner job.Owner, limit int) (found []job.FailingSchedule, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL: `SELECT id, name, failures, failing_since, failure FROM schedules INDEXED BY schedules_failing
			WHERE account = $1 AND failing_since IS NOT NULL AND disabled_at IS NULL ORDER BY failing_since, id LIMIT $2`,
		Args: []any{owner.Number, limit}, Start: func() { found = nil },
		Row: func(row Row) error {
			var f job.FailingSchedule
			err := row.Scan(&f.ID, &f.Name, &f.Failures, &f.Since, &f.Cause)
			found = append(found, f)
			return err
		},
	})
	return found, err
}
