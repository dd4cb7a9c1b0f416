package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const alertColumns = `name, definition, match, inserted_at, updated_at, late_by, wake_at, data`

func scanAlert(stmt *sqlite.Stmt, owner job.Owner) *store.Alert {
	c := &columns{stmt: stmt}
	return &store.Alert{
		Owner: owner, Name: c.text(), Definition: c.json(), Match: c.json(), InsertedAt: c.time(), UpdatedAt: c.time(),
		LateBy: c.duration(), WakeAt: c.time(), Data: c.json(),
	}
}

// duration reads microseconds.
func (c *columns) duration() time.Duration { return time.Duration(c.int64()) * time.Microsecond }

func (t *tx) alert(owner job.Owner, name string) (*store.Alert, error) {
	var found *store.Alert
	err := t.query(`SELECT `+alertColumns+` FROM alerts WHERE account = ? AND name = ?`, func(stmt *sqlite.Stmt) error {
		found = scanAlert(stmt, owner)
		return nil
	}, owner.Number, name)
	if err != nil {
		return nil, fmt.Errorf("reading an alert: %w", err)
	}
	return found, nil
}

func (t *tx) alerts(owner job.Owner) ([]*store.Alert, error) {
	var found []*store.Alert
	err := t.query(`SELECT `+alertColumns+` FROM alerts WHERE account = ? ORDER BY name`, func(stmt *sqlite.Stmt) error {
		found = append(found, scanAlert(stmt, owner))
		return nil
	}, owner.Number)
	if err != nil {
		return nil, fmt.Errorf("reading alerts: %w", err)
	}
	return found, nil
}

// AlertGet implements store.Alerts.
func (s *Store) AlertGet(ctx context.Context, owner job.Owner, name string) (*store.Alert, error) {
	a, err := one(ctx, s, func(t *tx) (*store.Alert, error) { return t.alert(owner, name) })
	if err == nil && a == nil {
		return nil, fault.NoSuch("alert")
	}
	return a, err
}

// AlertList implements store.Alerts.
func (s *Store) AlertList(ctx context.Context, owner job.Owner) (found []*store.Alert, err error) {
	err = s.readAs(ctx, pages, func(t *tx) (err error) {
		found, err = t.alerts(owner)
		return err
	})
	return found, err
}

// AlertPut implements store.Alerts.
func (s *Store) AlertPut(ctx context.Context, a *store.Alert, putIf store.PutIf) (created bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		old, err := t.alert(a.Owner, a.Name)
		if err != nil {
			return err
		}
		created = old == nil
		if err := putIf.Check("alert", !created); err != nil {
			return err
		}
		a.InsertedAt, a.UpdatedAt = t.now, t.now
		if old != nil && bytes.Equal(old.Definition, a.Definition) {
			a.InsertedAt, a.UpdatedAt = old.InsertedAt, old.UpdatedAt
			return nil
		}
		if err := t.fitAlert(a); err != nil {
			return err
		}
		if old != nil {
			a.InsertedAt = old.InsertedAt
			return t.replaceAlert(a, !bytes.Equal(old.Match, a.Match))
		}
		err = t.exec(`INSERT INTO alerts (account, name, definition, match, inserted_at, updated_at, late_by) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			a.Owner.Number, a.Name, a.Definition, a.Match, a.InsertedAt, a.UpdatedAt, a.LateBy.Microseconds())
		if err != nil {
			return fmt.Errorf("inserting an alert: %w", err)
		}
		return t.alertsChanged(a.Owner.Number)
	})
	return created, err
}

// fitAlert refuses an alert that exceeds what the account may store.
func (t *tx) fitAlert(a *store.Alert) error {
	var others, size int
	err := t.query(`SELECT count(*), coalesce(sum(octet_length(definition)), 0) FROM alerts WHERE account = ? AND name <> ?`, func(stmt *sqlite.Stmt) error {
		others, size = stmt.ColumnInt(0), stmt.ColumnInt(1)
		return nil
	}, a.Owner.Number, a.Name)
	if err != nil {
		return fmt.Errorf("counting alerts: %w", err)
	}
	return store.RefuseAlert(others, size, len(a.Definition))
}

func (t *tx) replaceAlert(a *store.Alert, anew bool) error {
	err := t.exec(`UPDATE alerts SET definition = ?, match = ?, updated_at = ?, late_by = ? WHERE account = ? AND name = ?`,
		a.Definition, a.Match, a.UpdatedAt, a.LateBy.Microseconds(), a.Owner.Number, a.Name)
	if err == nil && anew {
		err = t.exec(`DELETE FROM alert_states WHERE account = ? AND alert = ?`, a.Owner.Number, a.Name)
	}
	if err != nil {
		return fmt.Errorf("replacing an alert: %w", err)
	}
	return t.alertsChanged(a.Owner.Number)
}

// AlertDelete implements store.Alerts.
func (s *Store) AlertDelete(ctx context.Context, owner job.Owner, name string) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.exec(`DELETE FROM alerts WHERE account = ? AND name = ?`, owner.Number, name); err != nil {
			return fmt.Errorf("deleting an alert: %w", err)
		}
		if t.changed() == 0 {
			return fault.NoSuch("alert")
		}
		if err := t.exec(`DELETE FROM alert_states WHERE account = ? AND alert = ?`, owner.Number, name); err != nil {
			return fmt.Errorf("deleting the states of an alert: %w", err)
		}
		return t.alertsChanged(owner.Number)
	})
}

// alertsChanged updates what is known about an account's alerts.
func (t *tx) alertsChanged(account int64) error {
	for _, statement := range []string{
		`INSERT INTO alert_accounts (account, late_min, late_max) VALUES (?, 0, 0) ON CONFLICT (account) DO NOTHING`,
		`UPDATE alert_accounts SET (late_min, late_max) = (SELECT coalesce(min(late_by), 0), coalesce(max(late_by), 0) FROM alerts WHERE account = ?1 AND late_by > 0) WHERE account = ?1`,
		`DELETE FROM alert_accounts WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM alerts WHERE account = ?1)`,
	} {
		if err := t.exec(statement, account); err != nil {
			return fmt.Errorf("updating an account's alerts: %w", err)
		}
	}
	return t.exec(`UPDATE alert_revision SET revision = revision + 1`)
}

// AlertAccounts implements store.Alerts.
func (s *Store) AlertAccounts(ctx context.Context, known int64) (revision int64, accounts map[int64]store.LateRange, err error) {
	err = s.readAs(ctx, engine, func(t *tx) error {
		accounts = nil
		err := t.query(`SELECT revision FROM alert_revision`, func(stmt *sqlite.Stmt) error {
			revision = stmt.ColumnInt64(0)
			return nil
		})
		if err != nil || revision == known {
			return err
		}
		accounts = map[int64]store.LateRange{}
		return t.query(`SELECT account, late_min, late_max FROM alert_accounts`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			accounts[c.int64()] = store.LateRange{Min: c.duration(), Max: c.duration()}
			return nil
		})
	})
	return revision, accounts, err
}

// AlertsPending implements store.Alerts.
func (s *Store) AlertsPending(ctx context.Context, limit int) (accounts []int64, next time.Time, err error) {
	err = s.readAs(ctx, engine, func(t *tx) error {
		accounts, next = nil, time.Time{}
		add := func(stmt *sqlite.Stmt) error {
			accounts = append(accounts, stmt.ColumnInt64(0))
			return nil
		}
		err := t.query(`WITH RECURSIVE a (account) AS (
				SELECT min(account) FROM alert_outcomes
				UNION ALL SELECT (SELECT min(o.account) FROM alert_outcomes o WHERE o.account > a.account) FROM a WHERE a.account IS NOT NULL)
			SELECT account FROM a WHERE account IS NOT NULL LIMIT ?`, add, limit)
		if err != nil {
			return err
		}
		if err := t.query(`SELECT account FROM alert_accounts WHERE wake_at <= ? ORDER BY wake_at LIMIT ?`, add, t.now, limit); err != nil {
			return err
		}
		return t.query(`SELECT min(wake_at) FROM alert_accounts WHERE wake_at > ?`, func(stmt *sqlite.Stmt) error {
			next = (&columns{stmt: stmt}).time()
			return nil
		}, t.now)
	})
	return accounts, next, err
}

// AlertTrack implements store.Alerts.
func (s *Store) AlertTrack(ctx context.Context, account int64, late []store.QueueKey, decide store.AlertDecide) (more bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		more = false
		m, last, err := t.alertSnapshot(account, late)
		if err != nil {
			return fmt.Errorf("reading what alerts track: %w", err)
		}
		if m == nil {
			return t.exec(`DELETE FROM alert_outcomes WHERE account = ?`, account)
		}
		more = len(m.Events) == store.MaxTracked
		changes := decide(m)
		if err := t.exec(`DELETE FROM alert_outcomes WHERE account = ? AND seq <= ?`, account, last); err != nil {
			return fmt.Errorf("deleting tracked outcomes: %w", err)
		}
		if changes == nil {
			return nil
		}
		more = more || len(m.States) >= store.MaxTracked
		return t.applyAlerts(account, changes)
	})
	return more, err
}

// alertSnapshot reads what a tracker needs, and the number of the last event. It
// returns nil if the account has no alerts.
func (t *tx) alertSnapshot(account int64, late []store.QueueKey) (m *store.AlertSnapshot, last int64, err error) {
	err = t.query(`SELECT data FROM alert_accounts WHERE account = ?`, func(stmt *sqlite.Stmt) error {
		m = &store.AlertSnapshot{Now: t.now, Data: (&columns{stmt: stmt}).json(), Late: make([]bool, len(late))}
		return nil
	}, account)
	if err != nil || m == nil {
		return nil, 0, err
	}
	if m.Owner, err = t.owner(account); err != nil {
		return nil, 0, err
	}
	if m.Alerts, err = t.alerts(m.Owner); err != nil {
		return nil, 0, err
	}
	err = t.query(`SELECT seq, job, schedule, kind, at, tags, detail FROM alert_outcomes WHERE account = ? ORDER BY seq LIMIT ?`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		last = c.int64()
		m.Events = append(m.Events, store.AlertOutcome{
			Owner: m.Owner, Job: c.int64(), Schedule: c.uuid(), Kind: store.AlertOutcomeKind(c.int()), At: c.time(), Tags: c.text(), Detail: c.json(),
		})
		return nil
	}, account, store.MaxTracked)
	if err != nil {
		return nil, 0, err
	}
	if err := t.alertStates(account, m); err != nil {
		return nil, 0, err
	}
	for i := range late {
		err := t.query(`SELECT 1 FROM runs WHERE due = ? AND kind = 0 AND number = ? AND node = 0`, func(*sqlite.Stmt) error {
			m.Late[i] = true
			return nil
		}, late[i].Due, late[i].Number)
		if err != nil {
			return nil, 0, err
		}
	}
	return m, last, nil
}

// alertStates reads the states that are due and those of the events' schedules.
func (t *tx) alertStates(account int64, m *store.AlertSnapshot) error {
	read := map[store.AlertStateKey]bool{}
	add := func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		st := store.AlertState{AlertStateKey: store.AlertStateKey{Schedule: c.uuid(), Alert: c.text(), Kind: store.AlertStateKind(c.int())}}
		st.Job, st.WakeAt, st.Data, st.Lasts = c.int64(), c.time(), c.json(), c.int() != 0
		if !read[st.AlertStateKey] {
			read[st.AlertStateKey] = true
			m.States = append(m.States, st)
		}
		return nil
	}
	const columns = `SELECT schedule, alert, kind, job, wake_at, data`
	err := t.query(columns+`, CASE kind
			WHEN 1 THEN schedule = zeroblob(16) OR EXISTS (SELECT 1 FROM schedules s WHERE s.id = schedule AND s.account = a.account AND s.disabled_at IS NULL)
			ELSE EXISTS (SELECT 1 FROM jobs j JOIN runs r ON r.due = j.due_at AND r.kind = 0 AND r.number = j.number WHERE j.number = job AND j.state = 1 AND r.node = 0) END
		FROM alert_states a WHERE account = ? AND wake_at <= ? ORDER BY wake_at LIMIT ?`, add, account, t.now, store.MaxTracked)
	if err != nil {
		return err
	}
	seen := map[[16]byte]bool{}
	for _, e := range m.Events {
		if seen[e.Schedule] {
			continue
		}
		seen[e.Schedule] = true
		if err := t.query(columns+`, 0 FROM alert_states WHERE account = ? AND schedule = ?`, add, account, e.Schedule[:]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) applyAlerts(account int64, c *store.AlertChanges) error {
	for _, a := range c.Alerts {
		if err := t.exec(`UPDATE alerts SET data = ?, wake_at = ? WHERE account = ? AND name = ?`, a.Data, a.WakeAt, account, a.Name); err != nil {
			return fmt.Errorf("updating an alert: %w", err)
		}
	}
	for i := range c.States {
		st := &c.States[i]
		err := t.exec(`INSERT INTO alert_states (account, schedule, alert, kind, job, wake_at, data) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (account, schedule, alert, kind) DO UPDATE SET job = excluded.job, wake_at = excluded.wake_at, data = excluded.data`,
			account, st.Schedule[:], st.Alert, int(st.Kind), st.Job, st.WakeAt, st.Data)
		if err != nil {
			return fmt.Errorf("storing the state of an alert: %w", err)
		}
	}
	for _, k := range c.Ended {
		err := t.exec(`DELETE FROM alert_states WHERE account = ? AND schedule = ? AND alert = ? AND kind = ?`, account, k.Schedule[:], k.Alert, int(k.Kind))
		if err != nil {
			return fmt.Errorf("deleting the state of an alert: %w", err)
		}
	}
	if err := t.withdraw(account, c.Withdrawn); err != nil {
		return err
	}
	if err := t.insertDeliveries(c.Deliveries); err != nil {
		return err
	}
	err := t.exec(`UPDATE alert_accounts SET data = ?2, wake_at = (SELECT min(w) FROM (
			SELECT min(wake_at) AS w FROM alerts WHERE account = ?1 UNION ALL SELECT min(wake_at) FROM alert_states WHERE account = ?1 AND wake_at IS NOT NULL))
		WHERE account = ?1`, account, c.Data)
	if err != nil {
		return fmt.Errorf("updating an account's alerts: %w", err)
	}
	return nil
}

// withdraw deletes the deliveries that are still pending. One that is under way is not
// retried.
func (t *tx) withdraw(account int64, messages []store.AlertMessage) error {
	for _, m := range messages {
		number, due := int64(0), time.Time{}
		err := t.query(`DELETE FROM deliveries WHERE job = ? AND account = ? AND message = ? RETURNING number, due`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			number, due = c.int64(), c.time()
			return nil
		}, m.Job, account, m.ID)
		if err == nil && number != 0 {
			err = t.exec(`DELETE FROM runs WHERE due = ? AND kind = 1 AND number = ?`, due, number)
		}
		if err != nil {
			return fmt.Errorf("withdrawing a message of an alert: %w", err)
		}
	}
	return nil
}

// insertOutcomes stores what alerts have to track.
func (t *tx) insertOutcomes(outcomes []store.AlertOutcome) error {
	for i := range outcomes {
		o := &outcomes[i]
		err := t.exec(`INSERT INTO alert_outcomes (account, job, schedule, kind, at, tags, detail) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			o.Owner.Number, o.Job, o.Schedule[:], int(o.Kind), o.At, o.Tags, o.Detail)
		if err != nil {
			return fmt.Errorf("inserting an outcome for alerts: %w", err)
		}
	}
	return nil
}

// AlertStatePrune implements store.Alerts.
func (s *Store) AlertStatePrune(ctx context.Context, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		err := t.exec(`DELETE FROM alert_states WHERE (account, schedule, alert, kind) IN (
			SELECT account, schedule, alert, kind FROM alert_states a
			WHERE schedule <> zeroblob(16) AND NOT EXISTS (SELECT 1 FROM schedules s WHERE s.id = a.schedule) LIMIT ?)`, limit)
		n = t.changed()
		return err
	})
	return n, err
}

func (t *tx) copyAlerts(r *store.Records) error {
	for _, a := range r.Alerts {
		err := t.exec(`INSERT INTO alerts (account, name, definition, match, inserted_at, updated_at, late_by, wake_at, data)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			a.Owner.Number, a.Name, a.Definition, a.Match, a.InsertedAt, a.UpdatedAt, a.LateBy.Microseconds(), a.WakeAt, a.Data)
		if err != nil {
			return err
		}
		if err := t.alertsChanged(a.Owner.Number); err != nil {
			return err
		}
	}
	return nil
}
