package postgres

import (
	"context"
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

var _ store.Copyable = (*Store)(nil)

// CopyBegin implements store.Copyable.
func (s *Store) CopyBegin(ctx context.Context, source string) (mark string, err error) {
	err = s.write(ctx, func(t *tx) error {
		var begun, used bool
		var stored *string
		err := t.run(
			query{sql: `LOCK TABLE transfers IN EXCLUSIVE MODE`},
			query{sql: `SELECT mark FROM transfers WHERE source = $1`, args: []any{source}, row: func(rows pgx.Rows) error {
				begun = true
				return rows.Scan(&stored)
			}},
			query{
				sql: `SELECT EXISTS (SELECT FROM accounts) OR EXISTS (SELECT FROM jobs) OR EXISTS (SELECT FROM logs) OR EXISTS (SELECT FROM audits) OR EXISTS (SELECT FROM transfers)`,
				row: func(rows pgx.Rows) error { return rows.Scan(&used) },
			},
		)
		switch {
		case err != nil:
			return err
		case begun && stored == nil:
			return fault.New(fault.Invalid, "it is a finished copy of the same records already; give an empty database to copy once more")
		case begun:
			mark = *stored
			return t.commit()
		case used:
			return fault.New(fault.Invalid, "it is not empty, or holds an unfinished copy of other records; give an empty database to copy to")
		}
		mark = ""
		return t.commit(query{sql: `INSERT INTO transfers (source, mark, started_at) VALUES ($1, '', $2)`,
			args: []any{source, t.now.UnixMicro()}})
	})
	return mark, err
}

// CopyWrite implements store.Copyable.
func (s *Store) CopyWrite(ctx context.Context, source, mark string, copied *store.Records) error {
	return s.write(ctx, func(t *tx) error {
		err := underWay(t, `UPDATE transfers SET mark = $2 WHERE source = $1 AND mark IS NOT NULL RETURNING source`, source, mark)
		if err != nil {
			return err
		}
		var all []query
		for _, some := range [][]query{
			ofRecords(records.Copy(copied)),
			copySchedules(copied.Schedules),
			s.copyJobs(copied.Jobs), copyLogs(t, copied.Logs), copyRequests(copied.Requests), copyDeliveries(copied.Deliveries),
		} {
			all = append(all, some...)
		}
		return t.commit(all...)
	})
}

// CopyEnd implements store.Copyable. No copied job has a number above lastJob.
func (s *Store) CopyEnd(ctx context.Context, source string, lastJob int64) error {
	return s.write(ctx, func(t *tx) error {
		if err := underWay(t, `UPDATE transfers SET mark = NULL WHERE source = $1 AND mark IS NOT NULL RETURNING source`,
			source); err != nil {
			return err
		}
		return t.commit(
			query{sql: `SELECT setval('job_numbers', greatest($1::bigint, 1), $1 > 0)`, args: []any{lastJob}},
			query{sql: `SELECT setval('delivery_numbers', greatest(last, 1), last > 0) FROM (SELECT coalesce(max(number), 0) AS last FROM deliveries) n`},
			query{sql: `SELECT setval(pg_get_serial_sequence('accounts', 'number'), greatest(last, 1), last > 0)
				FROM (SELECT coalesce(max(number), 0) AS last FROM accounts) n`},
			query{sql: `INSERT INTO audit_counts (account, class, last) SELECT account, class, max(seq) FROM audits GROUP BY account, class
				ON CONFLICT (account, class) DO UPDATE SET last = greatest(audit_counts.last, excluded.last)`},
		)
	})
}

// underWay updates the copy under way; it returns an Invalid fault if there is
// none.
func underWay(t *tx, sql string, args ...any) error {
	found := false
	err := t.run(query{sql: sql, args: args, row: func(pgx.Rows) error {
		found = true
		return nil
	}})
	if err == nil && !found {
		return fault.New(fault.Invalid, "no copy of these records is under way there")
	}
	return err
}

// QueueClaimed implements store.Copyable.
func (s *Store) QueueClaimed(ctx context.Context) (claimed, awaiting int64, err error) {
	err = s.read(ctx, query{
		sql:  `SELECT count(*) FILTER (WHERE node <> $1), count(*) FILTER (WHERE node = $1) FROM runs WHERE node > 0`,
		args: []any{store.AwaitingNode},
		row:  func(rows pgx.Rows) error { return rows.Scan(&claimed, &awaiting) },
	})
	return claimed, awaiting, err
}

// JobLast implements store.Copyable.
func (s *Store) JobLast(ctx context.Context) (last int64, err error) {
	err = s.read(ctx, query{sql: `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM job_numbers`, row: func(rows pgx.Rows) error {
		return rows.Scan(&last)
	}})
	return last, err
}

// JobPage implements store.Copyable. One scan of the primary key reads the page, and sums
// up sizes without reading large values.
func (s *Store) JobPage(ctx context.Context, owner job.Owner, below int64, limit, budget int) ([]*job.Job, error) {
	if below == 0 {
		below = math.MaxInt64
	}
	var jobs []*job.Job
	err := s.read(ctx, s.jobsOf(owner, `SELECT `+jobColumns+`, `+runColumns+` FROM (SELECT t.*,
			coalesce(sum(coalesce(t.size, octet_length(t.args))) OVER (ORDER BY t.number DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
			FROM jobs t WHERE t.account = (SELECT $1::bigint) AND t.number < $2 ORDER BY t.number DESC LIMIT $3) j `+joinItem+
		`WHERE j.before <= $4 ORDER BY j.number DESC`,
		[]any{owner.Number, below, limit, budget}, &jobs))
	return jobs, err
}

// LogPage implements store.Copyable.
func (s *Store) LogPage(ctx context.Context, owner job.Owner, after uuid.UUID, limit int) ([]*job.Log, error) {
	var logs []*job.Log
	err := s.read(ctx, logsOf(owner, `SELECT `+logColumns+
		` FROM logs l WHERE l.account = (SELECT $1::bigint) AND l.id > $2 ORDER BY l.id LIMIT $3`,
		[]any{owner.Number, after, limit}, &logs))
	return logs, err
}

// DeliveryPage implements store.Copyable.
func (s *Store) DeliveryPage(ctx context.Context, after int64, limit int) ([]*store.PendingDelivery, error) {
	var deliveries []*store.PendingDelivery
	err := s.read(ctx, query{
		sql: `SELECT d.number, d.message, d.account, a.id, d.job, d.job_attempt, d.channel, d.url, d.event, d.attempt, d.due IS NULL, coalesce(d.due, d.begin_at), d.body, d.parts
			FROM accounts a CROSS JOIN LATERAL (SELECT * FROM deliveries p WHERE p.account = a.number AND p.number > $1 ORDER BY p.number LIMIT $2) d
			ORDER BY d.number LIMIT $2`,
		args:  []any{after, limit},
		start: func() { deliveries = nil },
		row: func(rows pgx.Rows) error {
			d := &store.PendingDelivery{}
			deliveries = append(deliveries, d)
			return rows.Scan(&d.Number, &d.MessageID, &d.Owner.Number, idOf{&d.Owner.ID}, &d.Job, &d.JobAttempt, &d.Channel, &d.URL,
				&d.Event,
				&d.Attempt, &d.Waits, timeOf{&d.DueAt}, jsonOf{&d.Body}, partsOf{&d.Parts})
		},
	})
	return deliveries, err
}
