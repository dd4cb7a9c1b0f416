package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
)

// FailuresSince implements store.Summaries. It reads the index of failed jobs, and
// the last outcome of each by the index of a job's logs.
func (s *Store) FailuresSince(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]job.FailedJob, error) {
	var found []job.FailedJob
	err := s.readAs(ctx, pages, query{
		sql: `SELECT j.number, j.name, j.schedule_id, coalesce(j.host, ''), j.discarded_at, coalesce(l.event, 0), l.head, l.tail, l.packed, l.size
			FROM (SELECT * FROM jobs WHERE account = (SELECT $1::bigint) AND discarded_at >= $2 ORDER BY discarded_at DESC, number DESC LIMIT $3) j
			LEFT JOIN LATERAL (SELECT k.event, ` + cutText(`k`, `$4`, ``) + ` FROM logs k
				WHERE k.account = (SELECT $1::bigint) AND k.job = j.number AND k.event IN (2, 3) ORDER BY k.id DESC LIMIT 1) l ON true
			ORDER BY j.discarded_at DESC, j.number DESC`,
		args: []any{owner.Number, since.UnixMicro(), limit, job.FailurePrefix}, start: func() { found = nil },
		row: func(rows pgx.Rows) error {
			var f job.FailedJob
			var event int
			var text cutOf
			err := rows.Scan(append([]any{&f.Number, &f.Name, idOf{&f.ScheduleID}, &f.Host, timeOf{&f.DiscardedAt}, &event}, text.targets()...)...)
			if event > 0 {
				head, _ := text.text(job.FailurePrefix, 0)
				f.Cause = job.FailureCause(events[event], []byte(head))
			}
			found = append(found, f)
			return err
		},
	})
	return found, err
}

// JobFailures implements store.Summaries. It reads the log of each job's latest
// failure by the index of a job's logs.
func (s *Store) JobFailures(ctx context.Context, owner job.Owner, numbers []int64) (found map[int64]job.LastFailure, err error) {
	err = s.readAs(ctx, pages, query{
		sql: `SELECT n.number, l.event, ` + cutText(`l`, `$3`, `$4`) + ` FROM unnest($2::bigint[]) n (number)
			CROSS JOIN LATERAL (SELECT k.event, k.payload, k.packed, k.size FROM logs k
				WHERE k.account = (SELECT $1::bigint) AND k.job = n.number AND k.event IN (2, 3) ORDER BY k.id DESC LIMIT 1) l`,
		args: []any{owner.Number, numbers, job.FailurePrefix, job.FailureSuffix}, start: func() { found = map[int64]job.LastFailure{} },
		row: func(rows pgx.Rows) error {
			var number int64
			var event int
			var text cutOf
			err := rows.Scan(append([]any{&number, &event}, text.targets()...)...)
			prefix, suffix := text.text(job.FailurePrefix, job.FailureSuffix)
			if suffix == "" {
				suffix = prefix
			}
			found[number] = job.ReadLastFailure(events[event], []byte(prefix), []byte(suffix))
			return err
		},
	})
	return found, err
}

// SchedulesFailing implements store.Summaries.
func (s *Store) SchedulesFailing(ctx context.Context, owner job.Owner, limit int) ([]job.FailingSchedule, error) {
	var found []job.FailingSchedule
	err := s.readAs(ctx, pages, query{
		sql: `SELECT id, name, failures, failing_since, failure FROM schedules
			WHERE account = (SELECT $1::bigint) AND failing_since IS NOT NULL AND disabled_at IS NULL ORDER BY failing_since, id LIMIT $2`,
		args: []any{owner.Number, limit}, start: func() { found = nil },
		row: func(rows pgx.Rows) error {
			var f job.FailingSchedule
			err := rows.Scan(idOf{&f.ID}, &f.Name, &f.Failures, timeOf{&f.Since}, &f.Cause)
			found = append(found, f)
			return err
		},
	})
	return found, err
}
