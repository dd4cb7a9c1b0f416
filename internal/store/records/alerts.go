package records

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var alerts = Table[store.Alert]{
	Name: "alerts", Key: []string{"account", "name"},
	Columns: []Column[store.Alert]{
		{"account", func(a *store.Alert) any { return &a.Owner.Number }},
		{"name", func(a *store.Alert) any { return &a.Name }},
		{"definition", func(a *store.Alert) any { return &a.Definition }},
		{"match", func(a *store.Alert) any { return &a.Match }},
		{"inserted_at", func(a *store.Alert) any { return &a.InsertedAt }},
		{"updated_at", func(a *store.Alert) any { return &a.UpdatedAt }},
		{"late_by", func(a *store.Alert) any { return &a.LateBy }},
		{"wake_at", func(a *store.Alert) any { return &a.WakeAt }},
		{"data", func(a *store.Alert) any { return &a.Data }},
	},
}

func readAlert(found *[]*store.Alert, owner job.Owner, name string) Query {
	return alerts.Select(found, func(a *store.Alert) { a.Owner = owner }, `WHERE account = $1 AND name = $2`, owner.Number, name)
}

// ReadAlerts returns a query for the alerts of an account, ordered by name.
func ReadAlerts(found *[]*store.Alert, owner job.Owner) Query {
	return alerts.Select(found, func(a *store.Alert) { a.Owner = owner }, `WHERE account = $1 ORDER BY name`, owner.Number)
}

// AlertGet implements store.Alerts.
func (r *Records) AlertGet(ctx context.Context, owner job.Owner, name string) (*store.Alert, error) {
	var found []*store.Alert
	err := r.engine.Read(ctx, Single, readAlert(&found, owner, name))
	return first(found, err, "alert")
}

// AlertList implements store.Alerts.
func (r *Records) AlertList(ctx context.Context, owner job.Owner) (found []*store.Alert, err error) {
	err = r.engine.Read(ctx, Pages, ReadAlerts(&found, owner))
	return found, err
}

// alertsChanged updates what is known about an account's alerts.
func alertsChanged(account int64) []Query {
	args := []any{account}
	return []Query{
		{SQL: `INSERT INTO alert_accounts (account, late_min, late_max) VALUES ($1, 0, 0) ON CONFLICT (account) DO NOTHING`, Args: args},
		{SQL: `UPDATE alert_accounts SET (late_min, late_max) = (
				SELECT coalesce(min(late_by), 0), coalesce(max(late_by), 0) FROM alerts WHERE account = $1 AND late_by > 0)
			WHERE account = $1`, Args: args},
		{SQL: `DELETE FROM alert_accounts WHERE account = $1 AND NOT EXISTS (SELECT 1 FROM alerts WHERE account = $1)`, Args: args},
		{SQL: `UPDATE alert_revision SET revision = revision + 1`},
	}
}

// AlertPut implements store.Alerts.
func (r *Records) AlertPut(ctx context.Context, a *store.Alert, putIf store.PutIf) (created bool, err error) {
	account := a.Owner.Number
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var found []*store.Alert
		var others, size int
		err := t.Run(Query{ // the account's row, also of an account without alerts
			SQL: `INSERT INTO alert_accounts (account, late_min, late_max) VALUES ($1, 0, 0)
				ON CONFLICT (account) DO UPDATE SET account = excluded.account`,
			Args: []any{account}, Lock: true,
		}, readAlert(&found, a.Owner, a.Name), Query{
			SQL:  `SELECT count(*), coalesce(sum(octet_length(definition)), 0) FROM alerts WHERE account = $1 AND name <> $2`,
			Args: []any{account, a.Name}, Row: into(&others, &size),
		})
		if err != nil {
			return nil, err
		}
		created = len(found) == 0
		if err := putIf.Check("alert", !created); err != nil {
			return nil, err
		}
		a.InsertedAt, a.UpdatedAt = t.Now(), t.Now()
		if !created && bytes.Equal(found[0].Definition, a.Definition) {
			a.InsertedAt, a.UpdatedAt = found[0].InsertedAt, found[0].UpdatedAt
			return nil, nil
		}
		if err := store.RefuseAlert(others, size, len(a.Definition)); err != nil {
			return nil, err
		}
		last := []Query{alerts.Put(a, "inserted_at", "wake_at", "data")}
		if !created {
			a.InsertedAt = found[0].InsertedAt
			if !bytes.Equal(found[0].Match, a.Match) {
				last = append(last, dropAlertStates(account, a.Name))
			}
		}
		t.Notify(store.Notice{Alerts: true})
		return append(last, alertsChanged(account)...), nil
	})
	return created, err
}

func dropAlertStates(account int64, alert string) Query {
	return Query{SQL: `DELETE FROM alert_states WHERE account = $1 AND alert = $2`, Args: []any{account, alert}}
}

// AlertDelete implements store.Alerts.
func (r *Records) AlertDelete(ctx context.Context, owner job.Owner, name string) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		t.Notify(store.Notice{Alerts: true})
		return append([]Query{
			{SQL: `SELECT 1 FROM alert_accounts WHERE account = $1 FOR UPDATE`, Args: []any{owner.Number}, Lock: true},
			{SQL: `DELETE FROM alerts WHERE account = $1 AND name = $2`, Args: []any{owner.Number, name}, None: fault.NoSuch("alert")},
			dropAlertStates(owner.Number, name),
		}, alertsChanged(owner.Number)...), nil
	})
}

// AlertAccounts implements store.Alerts.
func (r *Records) AlertAccounts(ctx context.Context, known int64) (revision int64, accounts map[int64]store.LateRange, err error) {
	err = r.engine.Read(ctx, Queue, Query{SQL: `SELECT revision FROM alert_revision`, Row: into(&revision)})
	if err != nil || revision == known {
		return revision, nil, err
	}
	// A change after the revision was read is read now and once more later.
	err = r.engine.Read(ctx, Queue, Query{
		SQL:   `SELECT account, late_min, late_max FROM alert_accounts`,
		Start: func() { accounts = map[int64]store.LateRange{} },
		Row: func(row Row) error {
			var account int64
			var late store.LateRange
			err := row.Scan(&account, &late.Min, &late.Max)
			accounts[account] = late
			return err
		},
	})
	return revision, accounts, err
}

// AlertsPending implements store.Alerts.
func (r *Records) AlertsPending(ctx context.Context, limit int) (accounts []int64, next time.Time, err error) {
	add := func(row Row) error {
		var account int64
		err := row.Scan(&account)
		accounts = append(accounts, account)
		return err
	}
	now := r.engine.Now()
	err = r.engine.Read(ctx, Queue,
		Query{
			SQL: `WITH RECURSIVE a (account) AS (
					SELECT account FROM (SELECT account FROM alert_outcomes ORDER BY account LIMIT 1) f
					UNION ALL SELECT (SELECT o.account FROM alert_outcomes o WHERE o.account > a.account ORDER BY o.account LIMIT 1)
						FROM a WHERE a.account IS NOT NULL)
				SELECT account FROM a WHERE account IS NOT NULL LIMIT $1`,
			Args: []any{limit}, Start: func() { accounts = nil }, Row: add,
		},
		Query{SQL: `SELECT account FROM alert_accounts WHERE wake_at <= $1 ORDER BY wake_at LIMIT $2`, Args: []any{now, limit}, Row: add},
		Query{SQL: `SELECT min(wake_at) FROM alert_accounts WHERE wake_at > $1`, Args: []any{now}, Row: into(&next)})
	return accounts, next, err
}

// ApplyAlerts returns the queries that store what a tracker has decided about an
// account's alerts and their states.
func ApplyAlerts(account int64, c *store.AlertChanges) []Query {
	var queries []Query
	for _, a := range c.Alerts {
		queries = append(queries, Query{
			SQL:  `UPDATE alerts SET data = $3, wake_at = $4 WHERE account = $1 AND name = $2`,
			Args: []any{account, a.Name, a.Data, a.WakeAt},
		})
	}
	for i := range c.States {
		st := &c.States[i]
		queries = append(queries, Query{
			SQL: `INSERT INTO alert_states (account, schedule, alert, kind, job, wake_at, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (account, schedule, alert, kind) DO UPDATE SET job = excluded.job, wake_at = excluded.wake_at, data = excluded.data`,
			Args: []any{account, st.Schedule, st.Alert, int(st.Kind), st.Job, st.WakeAt, st.Data},
		})
	}
	for _, k := range c.Ended {
		queries = append(queries, Query{
			SQL:  `DELETE FROM alert_states WHERE account = $1 AND schedule = $2 AND alert = $3 AND kind = $4`,
			Args: []any{account, k.Schedule, k.Alert, int(k.Kind)},
		})
	}
	return append(queries, Query{
		SQL: `UPDATE alert_accounts SET data = $2, wake_at = (SELECT min(w) FROM (
				SELECT min(wake_at) AS w FROM alerts WHERE account = $1
				UNION ALL SELECT min(wake_at) FROM alert_states WHERE account = $1 AND wake_at IS NOT NULL) u)
			WHERE account = $1`,
		Args: []any{account, c.Data},
	})
}

// AlertStates implements store.Alerts.
func (r *Records) AlertStates(ctx context.Context, owner job.Owner, limit int) (found []store.AlertState, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL: `SELECT schedule, alert, job, wake_at, data FROM (
				SELECT * FROM alert_states WHERE account = $1 ORDER BY account, schedule, alert, kind LIMIT $2) a
			WHERE kind = $3`,
		Args: []any{owner.Number, limit, int(store.AlertFailing)}, Start: func() { found = nil },
		Row: func(row Row) error {
			a := store.AlertState{AlertStateKey: store.AlertStateKey{Kind: store.AlertFailing}}
			err := scan(row, &a.Schedule, &a.Alert, &a.Job, &a.WakeAt, &a.Data)
			found = append(found, a)
			return err
		},
	})
	return found, err
}

// AlertMessages implements store.Alerts.
func (r *Records) AlertMessages(ctx context.Context, owner job.Owner, jobs []int64, limit int) (
	found []*job.Delivery, cut bool, err error,
) {
	queries := make([]Query, len(jobs))
	for i, number := range jobs {
		n := 0
		queries[i] = Query{
			SQL:  `SELECT number, message, channel, event, attempt, due FROM deliveries WHERE account = $1 AND job = $2 LIMIT $3`,
			Args: []any{owner.Number, number, limit},
			Start: func() {
				if n = 0; i == 0 {
					found, cut = nil, false
				}
			},
			Row: func(row Row) error {
				d := &job.Delivery{Owner: owner, Job: number}
				var channel int
				err := scan(row, &d.Number, &d.MessageID, &channel, &d.Event, &d.Attempt, &d.DueAt)
				if d.Channel = job.Channel(channel); d.Channel != job.Callback && d.Channel != job.Webhook {
					found = append(found, d)
				}
				n++
				cut = cut || n == limit
				return err
			},
		}
	}
	if len(queries) > 0 {
		err = r.engine.Read(ctx, Pages, queries...)
	}
	return found, cut, err
}

// AlertStatePrune implements store.Alerts.
func (r *Records) AlertStatePrune(ctx context.Context, limit int) (int, error) {
	return r.prune(ctx, "alert_states", []string{"account", "schedule", "alert", "kind"},
		`a WHERE schedule <> $1 AND NOT EXISTS (SELECT 1 FROM schedules s WHERE s.account = a.account AND s.id = a.schedule OFFSET 0) LIMIT $2`,
		uuid.Nil, limit)
}
