package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
)

// JobFailures implements store.Summaries. It reads the log of each job's latest
// failure by the index of a job's logs.
func (s *Store) JobFailures(ctx context.Context, owner job.Owner, numbers []int64) (found map[int64]job.LastFailure, err error) {
	err = s.readAs(ctx, pages, query{
		sql: `SELECT n.number, l.event, ` + cutText(`l`, `$3`, `$4`) + ` FROM unnest($2::bigint[]) n (number)
			CROSS JOIN LATERAL (SELECT k.event, k.payload, k.packed, k.size FROM logs k
				WHERE k.account = (SELECT $1::bigint) AND k.job = n.number AND k.event IN (2, 3) ORDER BY k.id DESC LIMIT 1) l`,
		args: []any{owner.Number, numbers, job.FailureHead, job.FailureSuffix}, start: func() { found = map[int64]job.LastFailure{} },
		row: func(rows pgx.Rows) error {
			var number int64
			var event int
			var text cutOf
			err := rows.Scan(append([]any{&number, &event}, text.targets()...)...)
			prefix, suffix := text.text(job.FailureHead, job.FailureSuffix)
			if suffix == "" {
				suffix = prefix
			}
			found[number] = job.ReadLastFailure(events[event], []byte(prefix), []byte(suffix))
			return err
		},
	})
	return found, err
}
