package postgres

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const alertColumns = `name, definition, match, inserted_at, updated_at, late_by, wake_at, data`

// readAlerts returns a query for alerts of an owner.
func readAlerts(owner job.Owner, where string, args []any, found *[]*store.Alert) query {
	return query{
		sql: `SELECT ` + alertColumns + ` FROM alerts WHERE ` + where + ` ORDER BY name`, args: args,
		start: func() { *found = nil },
		row: func(rows pgx.Rows) error {
			a := &store.Alert{Owner: owner}
			*found = append(*found, a)
			return rows.Scan(&a.Name, jsonOf{&a.Definition}, jsonOf{&a.Match}, timeOf{&a.InsertedAt}, timeOf{&a.UpdatedAt}, durationOf{&a.LateBy}, timeOf{&a.WakeAt}, jsonOf{&a.Data})
		},
	}
}

func readAlert(owner job.Owner, name string, found *[]*store.Alert) query {
	return readAlerts(owner, `account = (SELECT $1::bigint) AND name = $2`, []any{owner.Number, text(name)}, found)
}

// AlertGet implements store.Alerts.
func (s *Store) AlertGet(ctx context.Context, owner job.Owner, name string) (*store.Alert, error) {
	var found []*store.Alert
	if err := s.read(ctx, readAlert(owner, name, &found)); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fault.NoSuch("alert")
	}
	return found[0], nil
}

// AlertList implements store.Alerts.
func (s *Store) AlertList(ctx context.Context, owner job.Owner) ([]*store.Alert, error) {
	var found []*store.Alert
	err := s.read(ctx, readAlerts(owner, `account = (SELECT $1::bigint)`, []any{owner.Number}, &found))
	return found, err
}

// lockAlerts makes sure that the account has a row in alert_accounts, and locks
// it until the commit.
func lockAlerts(account int64) query {
	return query{
		sql: `INSERT INTO alert_accounts (account, late_min, late_max) VALUES ($1, 0, 0) ON CONFLICT (account) DO UPDATE SET account = excluded.account`, args: []any{account},
	}
}

// alertsChanged updates what is known about an account's alerts.
func alertsChanged(account int64) []query {
	return []query{
		{sql: `UPDATE alert_accounts SET (late_min, late_max) = (SELECT coalesce(min(late_by), 0), coalesce(max(late_by), 0) FROM alerts WHERE account = (SELECT $1::bigint) AND late_by > 0) WHERE account = (SELECT $1::bigint)`, args: []any{account}},
		{sql: `DELETE FROM alert_accounts a WHERE a.account = (SELECT $1::bigint) AND NOT EXISTS (SELECT FROM alerts WHERE account = (SELECT $1::bigint))`, args: []any{account}},
		{sql: `UPDATE alert_revision SET revision = revision + 1`},
	}
}

// AlertPut implements store.Alerts.
func (s *Store) AlertPut(ctx context.Context, a *store.Alert, putIf store.PutIf) (created bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		var found []*store.Alert
		var others, size int
		err := t.run(lockAlerts(a.Owner.Number), readAlert(a.Owner, a.Name, &found), query{
			sql:  `SELECT count(*), coalesce(sum(octet_length(definition)), 0) FROM alerts WHERE account = (SELECT $1::bigint) AND name <> $2`,
			args: []any{a.Owner.Number, text(a.Name)},
			row:  func(rows pgx.Rows) error { return rows.Scan(&others, &size) },
		})
		if err != nil {
			return err
		}
		created = len(found) == 0
		if err := putIf.Check("alert", !created); err != nil {
			return err
		}
		a.InsertedAt, a.UpdatedAt = t.now, t.now
		if !created && bytes.Equal(found[0].Definition, a.Definition) {
			a.InsertedAt, a.UpdatedAt = found[0].InsertedAt, found[0].UpdatedAt
			return t.commit()
		}
		if err := store.RefuseAlert(others, size, len(a.Definition)); err != nil {
			return err
		}
		args := []any{a.Owner.Number, a.Name, jsonText(a.Definition), jsonText(a.Match), t.now.UnixMicro(), a.LateBy.Microseconds()}
		if created {
			return t.commit(append([]query{{
				sql: `INSERT INTO alerts (account, name, definition, match, inserted_at, updated_at, late_by) VALUES ($1, $2, $3, $4, $5, $5, $6)`, args: args,
			}}, alertsChanged(a.Owner.Number)...)...)
		}
		a.InsertedAt = found[0].InsertedAt
		queries := []query{{
			sql: `UPDATE alerts SET definition = $3, match = $4, updated_at = $5, late_by = $6 WHERE account = (SELECT $1::bigint) AND name = $2`, args: args,
		}}
		if !bytes.Equal(found[0].Match, a.Match) {
			queries = append(queries, dropAlertStates(a.Owner.Number, a.Name))
		}
		return t.commit(append(queries, alertsChanged(a.Owner.Number)...)...)
	})
	if err == nil {
		s.notifier.alertsChanged()
	}
	return created, err
}

func dropAlertStates(account int64, alert string) query {
	return query{sql: `DELETE FROM alert_states WHERE account = (SELECT $1::bigint) AND alert = $2`, args: []any{account, text(alert)}}
}

// AlertDelete implements store.Alerts.
func (s *Store) AlertDelete(ctx context.Context, owner job.Owner, name string) error {
	found := false
	err := s.write(ctx, func(t *tx) error {
		found = false
		err := t.run(
			query{sql: `SELECT FROM alert_accounts WHERE account = (SELECT $1::bigint) FOR UPDATE`, args: []any{owner.Number}},
			query{
				sql: `DELETE FROM alerts WHERE account = (SELECT $1::bigint) AND name = $2 RETURNING 1`, args: []any{owner.Number, text(name)},
				row: func(pgx.Rows) error {
					found = true
					return nil
				},
			})
		if err != nil || !found {
			return err
		}
		return t.commit(append([]query{dropAlertStates(owner.Number, name)}, alertsChanged(owner.Number)...)...)
	})
	switch {
	case err == nil && !found:
		return fault.NoSuch("alert")
	case err == nil:
		s.notifier.alertsChanged()
	}
	return err
}

// AlertAccounts implements store.Alerts.
func (s *Store) AlertAccounts(ctx context.Context, known int64) (revision int64, accounts map[int64]store.LateRange, err error) {
	err = s.readAs(ctx, engine, query{
		sql: `SELECT revision FROM alert_revision`,
		row: func(rows pgx.Rows) error { return rows.Scan(&revision) },
	})
	if err != nil || revision == known {
		return revision, nil, err
	}
	// A change after the revision was read is read now and once more later.
	err = s.readAs(ctx, engine, query{
		sql:   `SELECT account, late_min, late_max FROM alert_accounts`,
		start: func() { accounts = map[int64]store.LateRange{} },
		row: func(rows pgx.Rows) error {
			var account int64
			var late store.LateRange
			err := rows.Scan(&account, durationOf{&late.Min}, durationOf{&late.Max})
			accounts[account] = late
			return err
		},
	})
	return revision, accounts, err
}

// AlertsPending implements store.Alerts.
func (s *Store) AlertsPending(ctx context.Context, limit int) (accounts []int64, next time.Time, err error) {
	add := func(rows pgx.Rows) error {
		var account int64
		err := rows.Scan(&account)
		accounts = append(accounts, account)
		return err
	}
	now := s.Now().UnixMicro()
	err = s.readAs(ctx, engine,
		query{
			sql: `WITH RECURSIVE a (account) AS (
					(SELECT account FROM alert_outcomes ORDER BY account LIMIT 1)
					UNION ALL SELECT (SELECT o.account FROM alert_outcomes o WHERE o.account > a.account ORDER BY o.account LIMIT 1) FROM a WHERE a.account IS NOT NULL)
				SELECT account FROM a WHERE account IS NOT NULL LIMIT $1`,
			args: []any{limit}, start: func() { accounts = nil }, row: add,
		},
		query{sql: `SELECT account FROM alert_accounts WHERE wake_at <= $1 ORDER BY wake_at LIMIT $2`, args: []any{now, limit}, row: add},
		query{
			sql: `SELECT min(wake_at) FROM alert_accounts WHERE wake_at > $1`, args: []any{now},
			row: func(rows pgx.Rows) error { return rows.Scan(timeOf{&next}) },
		})
	return accounts, next, err
}

// AlertTrack implements store.Alerts.
func (s *Store) AlertTrack(ctx context.Context, account int64, late []store.QueueKey, decide store.AlertDecide) (more bool, err error) {
	if err := s.learnOwners(ctx, []int64{account}); err != nil {
		return false, err
	}
	err = s.write(ctx, func(t *tx) error {
		k := &tracking{account: account, late: late}
		if err := t.run(k.lock()...); err != nil {
			return err
		}
		if !k.found {
			more = false
			return t.commit(query{sql: `DELETE FROM alert_outcomes WHERE account = (SELECT $1::bigint)`, args: []any{account}})
		}
		k.m.Owner, _ = s.owners.get(account)
		k.m.Now = s.Now()
		if err := t.run(k.reads()...); err != nil {
			return err
		}
		k.setOwners()
		changes := decide(&k.m)
		more = len(k.m.Events) == store.MaxTracked || changes != nil && len(k.m.States) >= store.MaxTracked
		queries := []query{{sql: `DELETE FROM alert_outcomes o USING ` + listOf(`bigint`) + ` WHERE o.account = i.account AND o.seq = i.key`, args: []any{account, k.seqs}}}
		if changes != nil {
			queries = append(queries, applyAlerts(t, account, changes)...)
		}
		return t.commit(queries...)
	})
	return more, err
}

// tracking reads the Snapshot of a tracker.
type tracking struct {
	account int64
	late    []store.QueueKey
	found   bool
	seqs    []int64 // of the events
	m       store.AlertSnapshot
	read    map[store.AlertStateKey]bool
}

// lock locks the account and reads its events. Others may add events meanwhile,
// so they are deleted by number.
func (k *tracking) lock() []query {
	return []query{
		{
			sql: `SELECT data FROM alert_accounts WHERE account = (SELECT $1::bigint) FOR UPDATE`, args: []any{k.account},
			row: func(rows pgx.Rows) error {
				k.found = true
				return rows.Scan(jsonOf{&k.m.Data})
			},
		},
		{
			sql: `SELECT seq, job, schedule, kind, at, tags, detail FROM alert_outcomes WHERE account = (SELECT $1::bigint) ORDER BY seq LIMIT $2`, args: []any{k.account, store.MaxTracked},
			row: func(rows pgx.Rows) error {
				var e store.AlertOutcome
				var seq int64
				err := rows.Scan(&seq, &e.Job, &e.Schedule, &e.Kind, timeOf{&e.At}, &e.Tags, jsonOf{&e.Detail})
				k.seqs, k.m.Events = append(k.seqs, seq), append(k.m.Events, e)
				return err
			},
		},
	}
}

func (k *tracking) setOwners() {
	for i := range k.m.Events {
		k.m.Events[i].Owner = k.m.Owner
	}
}

// reads returns the queries for the alerts, the states that are due and those of
// the events' schedules, and whether the late items are unclaimed.
func (k *tracking) reads() []query {
	k.read, k.m.Late = map[store.AlertStateKey]bool{}, make([]bool, len(k.late))
	schedules := column(k.m.Events, func(e *store.AlertOutcome) uuid.UUID { return e.Schedule })
	const columns = `SELECT schedule, alert, kind, job, wake_at, data`
	queries := []query{
		readAlerts(k.m.Owner, `account = (SELECT $1::bigint)`, []any{k.account}, &k.m.Alerts),
		{
			sql: columns + `, CASE kind
					WHEN 1 THEN schedule = $4 OR EXISTS (SELECT FROM schedules s WHERE s.account = a.account AND s.id = a.schedule AND s.disabled_at IS NULL OFFSET 0)
					ELSE EXISTS (SELECT FROM jobs j JOIN runs r ON r.due = j.due_at AND r.kind = 0 AND r.number = j.number AND r.account = j.account
						WHERE j.account = a.account AND j.number = a.job AND j.state = 1 AND r.node = 0 OFFSET 0) END
				FROM alert_states a WHERE account = (SELECT $1::bigint) AND wake_at <= $2 ORDER BY wake_at LIMIT $3`,
			args: []any{k.account, k.m.Now.UnixMicro(), store.MaxTracked, uuid.Nil}, row: k.addState,
		},
		{sql: columns + `, false FROM ` + listOf(`uuid`) + ` JOIN alert_states a ON a.account = i.account AND a.schedule = i.key`, args: []any{k.account, schedules}, row: k.addState},
	}
	if len(k.late) > 0 {
		queries = append(queries, query{
			sql: `SELECT u.i FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS u (due, number, i)
				JOIN runs r ON r.due = u.due AND r.kind = 0 AND r.number = u.number AND r.account = (SELECT $3::bigint) WHERE r.node = 0`,
			args: []any{
				column(k.late, func(r *store.QueueKey) int64 { return r.Due.UnixMicro() }), column(k.late, func(r *store.QueueKey) int64 { return r.Number }), k.account,
			},
			row: marks(k.m.Late),
		})
	}
	return queries
}

func (k *tracking) addState(rows pgx.Rows) error {
	var st store.AlertState
	if err := rows.Scan(&st.Schedule, &st.Alert, &st.Kind, &st.Job, timeOf{&st.WakeAt}, jsonOf{&st.Data}, &st.Lasts); err != nil {
		return err
	}
	if !k.read[st.AlertStateKey] {
		k.read[st.AlertStateKey] = true
		k.m.States = append(k.m.States, st)
	}
	return nil
}

func applyAlerts(t *tx, account int64, c *store.AlertChanges) []query {
	var queries []query
	for _, a := range c.Alerts {
		queries = append(queries, query{
			sql: `UPDATE alerts SET data = $3, wake_at = $4 WHERE account = (SELECT $1::bigint) AND name = $2`, args: []any{account, text(a.Name), jsonText(a.Data), micros(a.WakeAt)},
		})
	}
	for i := range c.States {
		st := &c.States[i]
		queries = append(queries, query{
			sql: `INSERT INTO alert_states (account, schedule, alert, kind, job, wake_at, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (account, schedule, alert, kind) DO UPDATE SET job = excluded.job, wake_at = excluded.wake_at, data = excluded.data`,
			args: []any{account, st.Schedule, text(st.Alert), int16(st.Kind), st.Job, micros(st.WakeAt), jsonText(st.Data)},
		})
	}
	for _, k := range c.Ended {
		queries = append(queries, query{
			sql:  `DELETE FROM alert_states WHERE account = (SELECT $1::bigint) AND schedule = $2 AND alert = $3 AND kind = $4`,
			args: []any{account, k.Schedule, text(k.Alert), int16(k.Kind)},
		})
	}
	queries = append(queries, withdraw(account, c.Withdrawn)...)
	deliveries := make([]*job.Delivery, len(c.Deliveries))
	for i := range c.Deliveries {
		deliveries[i] = &c.Deliveries[i]
	}
	queries = append(queries, insertDeliveries(t, deliveries)...)
	return append(queries, query{
		sql: `UPDATE alert_accounts SET data = $2, wake_at = least(
				(SELECT min(wake_at) FROM alerts WHERE account = (SELECT $1::bigint)), (SELECT min(wake_at) FROM alert_states WHERE account = (SELECT $1::bigint) AND wake_at IS NOT NULL))
			WHERE account = (SELECT $1::bigint)`,
		args: []any{account, jsonText(c.Data)},
	})
}

// withdraw deletes the deliveries that are still pending. One that is under way is not
// retried. A node may store a retry meanwhile, which the second query finds.
func withdraw(account int64, messages []store.AlertMessage) []query {
	if len(messages) == 0 {
		return nil
	}
	q := query{
		sql: `WITH r AS (DELETE FROM runs r USING deliveries d, unnest($2::bigint[], $3::text[]) AS u (job, message)
				WHERE d.account = (SELECT $1::bigint) AND d.job = u.job AND d.message = u.message
					AND r.due = d.due AND r.kind = 1 AND r.number = d.number AND r.account = d.account RETURNING r.number)
			DELETE FROM deliveries d USING r WHERE d.account = (SELECT $1::bigint) AND d.number = r.number`,
		args: []any{account, column(messages, func(m *store.AlertMessage) int64 { return m.Job }), column(messages, func(m *store.AlertMessage) string { return text(m.ID) })},
	}
	return []query{q, q}
}

// insertOutcomes stores what alerts have to track.
func insertOutcomes(outcomes []*store.AlertOutcome) []query {
	if len(outcomes) == 0 {
		return nil
	}
	type row = *store.AlertOutcome
	return []query{{
		sql: `INSERT INTO alert_outcomes (account, job, schedule, kind, at, tags, detail)
			SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::smallint[], $5::bigint[], $6::text[], $7::text[])`,
		args: []any{
			column(outcomes, func(o *row) int64 { return (*o).Owner.Number }), column(outcomes, func(o *row) int64 { return (*o).Job }),
			column(outcomes, func(o *row) uuid.UUID { return (*o).Schedule }), column(outcomes, func(o *row) int16 { return int16((*o).Kind) }),
			column(outcomes, func(o *row) int64 { return (*o).At.UnixMicro() }), column(outcomes, func(o *row) string { return text((*o).Tags) }),
			column(outcomes, func(o *row) *string { return jsonText((*o).Detail) }),
		},
	}}
}

// AlertStatePrune implements store.Alerts.
func (s *Store) AlertStatePrune(ctx context.Context, limit int) (int, error) {
	return s.prune(ctx, `DELETE FROM alert_states d USING (
			SELECT account, schedule, alert, kind FROM alert_states a
			WHERE schedule <> $2 AND NOT EXISTS (SELECT FROM schedules s WHERE s.account = a.account AND s.id = a.schedule OFFSET 0) LIMIT $1) o
		WHERE d.account = o.account AND d.schedule = o.schedule AND d.alert = o.alert AND d.kind = o.kind RETURNING 1`, limit, uuid.Nil)
}

func copyAlerts(alerts []*store.Alert) []query {
	var queries []query
	for _, a := range alerts {
		queries = append(queries, lockAlerts(a.Owner.Number), query{
			sql: `INSERT INTO alerts (account, name, definition, match, inserted_at, updated_at, late_by, wake_at, data)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
			args: []any{
				a.Owner.Number, text(a.Name), jsonText(a.Definition), jsonText(a.Match), a.InsertedAt.UnixMicro(), a.UpdatedAt.UnixMicro(),
				a.LateBy.Microseconds(), micros(a.WakeAt), jsonText(a.Data),
			},
		})
		queries = append(queries, alertsChanged(a.Owner.Number)...)
	}
	return queries
}

type durationOf struct{ to *time.Duration }

// ScanInt64 implements pgtype.Int64Scanner. The value is in microseconds.
func (s durationOf) ScanInt64(v pgtype.Int8) error {
	*s.to = time.Duration(v.Int64) * time.Microsecond
	return nil
}
