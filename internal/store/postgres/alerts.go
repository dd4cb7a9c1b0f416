package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

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
		queries := []query{{sql: `DELETE FROM alert_outcomes o USING ` + listOf(`bigint`) +
			` WHERE o.account = i.account AND o.seq = i.key`, args: []any{account, k.seqs}}}
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
		ofRecord(records.ReadAlerts(&k.m.Alerts, k.m.Owner)),
		ofRecord(records.ReadMuted(&k.m.Muted, k.account, k.m.Now)),
		{
			sql: columns + `, CASE kind
					WHEN 1 THEN schedule = $4 OR EXISTS (SELECT FROM schedules s WHERE s.account = a.account AND s.id = a.schedule AND s.disabled_at IS NULL OFFSET 0)
					ELSE EXISTS (SELECT FROM jobs j JOIN runs r ON r.due = j.due_at AND r.kind = 0 AND r.number = j.number AND r.account = j.account
						WHERE j.account = a.account AND j.number = a.job AND j.state = 1 AND r.node = 0 OFFSET 0) END
				FROM alert_states a WHERE account = (SELECT $1::bigint) AND wake_at <= $2 ORDER BY wake_at LIMIT $3`,
			args: []any{k.account, k.m.Now.UnixMicro(), store.MaxTracked, uuid.Nil}, row: k.addState,
		},
		{sql: columns + `, false FROM ` + listOf(`uuid`) + ` JOIN alert_states a ON a.account = i.account AND a.schedule = i.key`,
			args: []any{k.account, schedules}, row: k.addState},
	}
	if len(k.late) > 0 {
		queries = append(queries, query{
			sql: `SELECT u.i FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS u (due, number, i)
				JOIN runs r ON r.due = u.due AND r.kind = 0 AND r.number = u.number AND r.account = (SELECT $3::bigint) WHERE r.node = 0`,
			args: []any{
				column(k.late, func(r *store.QueueKey) int64 { return r.Due.UnixMicro() }),
				column(k.late, func(r *store.QueueKey) int64 { return r.Number }), k.account,
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
	queries := append(ofRecords(records.ApplyAlerts(account, c)), withdraw(account, c.Withdrawn)...)
	deliveries := make([]*job.Delivery, len(c.Deliveries))
	for i := range c.Deliveries {
		deliveries[i] = &c.Deliveries[i]
	}
	return append(queries, insertDeliveries(t, deliveries)...)
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
		args: []any{account, column(messages, func(m *store.AlertMessage) int64 { return m.Job }),
			column(messages, func(m *store.AlertMessage) string { return text(m.ID) })},
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
			column(outcomes, func(o *row) uuid.UUID { return (*o).Schedule }),
			column(outcomes, func(o *row) int16 { return int16((*o).Kind) }),
			column(outcomes, func(o *row) int64 { return (*o).At.UnixMicro() }),
			column(outcomes, func(o *row) string { return text((*o).Tags) }),
			column(outcomes, func(o *row) *string { return jsonText((*o).Detail) }),
		},
	}}
}
