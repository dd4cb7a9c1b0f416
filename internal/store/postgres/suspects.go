package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/store"
)

// QueueMove implements store.Parking.
func (s *Store) QueueMove(ctx context.Context, refs []store.QueueKey, by time.Duration) error {
	if len(refs) == 0 {
		return nil
	}
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql: `WITH open AS (
				SELECT r.due, r.kind, r.number, r.account, r.lane, r.revision FROM runs r
					JOIN unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[]) AS u (due, kind, number, account)
					ON r.due = u.due AND r.kind = u.kind AND r.number = u.number AND r.account = u.account
				WHERE r.node = 0 ORDER BY r.due, r.kind, r.number FOR UPDATE OF r SKIP LOCKED),
			moved AS (
				UPDATE runs r SET due = r.due + $5 FROM open o
				WHERE r.due = o.due AND r.kind = o.kind AND r.number = o.number AND r.account = o.account),
			jobs AS (
				UPDATE jobs j SET due_at = j.due_at + $5 FROM open o WHERE o.kind = 0 AND j.account = o.account AND j.number = o.number AND j.due_at = o.due),
			deliveries AS (
				UPDATE deliveries d SET due = d.due + $5 FROM open o WHERE o.kind = 1 AND d.account = o.account AND d.number = o.number AND d.due = o.due)
			SELECT due, kind, number, account, lane, revision FROM open`,
			args: append(refColumns(refs), by.Microseconds()),
			row: func(rows pgx.Rows) error {
				ref, err := scanRef(rows)
				ref.Due = ref.Due.Add(by)
				t.refs = append(t.refs, ref)
				return err
			},
		})
	})
}

// ordered returns keys in the order in which their rows are locked.
func ordered(refs []store.QueueKey) []store.QueueKey {
	return slices.SortedFunc(slices.Values(refs), func(a, b store.QueueKey) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Account, b.Account))
	})
}

const (
	// silent is the time without a heartbeat after which a node may have crashed. It
	// is too short to expire its lease, but long enough for caution.
	silent = 3 * store.HeartbeatInterval
	// crashCounted is the count of crashes of a suspect x after another one.
	crashCounted = `greatest(x.crashes + x.alone::int, 1)`
)

// SuspectNote implements store.Suspects.
func (s *Store) SuspectNote(ctx context.Context, node int64, refs []store.QueueKey, single bool) error {
	if len(refs) == 0 {
		return nil
	}
	refs = ordered(refs)
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql: `INSERT INTO suspects AS x (due, kind, number, account, lane, node, crashes, alone)
				SELECT u.*, $6, 0, $7 FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u
				ON CONFLICT (kind, number, account) DO UPDATE SET node = excluded.node, due = excluded.due, alone = excluded.alone,
					crashes = CASE WHEN x.node IN (0, excluded.node) THEN x.crashes ELSE ` + crashCounted + ` END
				WHERE x.node IN (0, excluded.node)
					OR NOT EXISTS (SELECT FROM nodes n WHERE n.number = x.node AND n.beat_at >= ` + serverNow + ` - $8::bigint)`,
			args: append(refColumns(refs), column(refs, func(r *store.QueueKey) int64 { return int64(r.Lane) }), node, single,
				silent.Microseconds()),
		})
	})
}

// SuspectClear implements store.Suspects.
func (s *Store) SuspectClear(ctx context.Context, refs []store.QueueKey) error {
	if len(refs) == 0 {
		return nil
	}
	refs = ordered(refs)
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql: `WITH u AS (SELECT x.kind, x.number, x.account FROM suspects x
					JOIN unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[]) AS u (due, kind, number, account)
					ON x.kind = u.kind AND x.number = u.number AND x.account = u.account
					ORDER BY x.kind, x.number, x.account FOR UPDATE OF x)
				DELETE FROM suspects x USING u WHERE x.kind = u.kind AND x.number = u.number AND x.account = u.account`,
			args: refColumns(refs),
		})
	})
}

// SuspectList implements store.Suspects. A node in a crash loop does not run long
// enough to see the lease of its predecessor expire, so a missing heartbeat is
// enough here.
func (s *Store) SuspectList(ctx context.Context, node int64, limit int) (suspects []store.Suspect, unclean bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		suspects, unclean = nil, false
		return t.commit(query{
			sql:  `SELECT 1 FROM nodes WHERE number <> $1 AND beat_at < ` + serverNow + ` - $2::bigint LIMIT 1`,
			args: []any{node, silent.Microseconds()},
			row: func(pgx.Rows) error {
				unclean = true
				return nil
			},
		}, query{
			sql: `UPDATE suspects x SET node = 0, crashes = ` + crashCounted + ` WHERE node NOT IN (0, $1)
				AND NOT EXISTS (SELECT FROM nodes n WHERE n.number = x.node AND n.beat_at >= ` + serverNow + ` - $2::bigint)`,
			args: []any{node, silent.Microseconds()},
		}, query{
			sql:  `SELECT due, kind, number, account, lane, crashes FROM suspects WHERE crashes > 0 ORDER BY crashes DESC, kind, number LIMIT $1`,
			args: []any{limit},
			row: func(rows pgx.Rows) error {
				var x store.Suspect
				err := rows.Scan(timeOf{&x.Due}, &x.Kind, &x.Number, &x.Account, &x.Lane, &x.Crashes)
				suspects = append(suspects, x)
				return err
			},
		})
	})
	return suspects, unclean, err
}
