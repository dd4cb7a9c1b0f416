package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

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
	if err := t.Run(records.ReadAlerts(&m.Alerts, m.Owner), records.ReadMuted(&m.Muted, account, t.now)); err != nil {
		return nil, 0, err
	}
	err = t.query(`SELECT seq, job, schedule, kind, at, tags, detail FROM alert_outcomes WHERE account = ? ORDER BY seq LIMIT ?`,
		func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			last = c.int64()
			m.Events = append(m.Events, store.AlertOutcome{
				Owner: m.Owner, Job: c.int64(), Schedule: c.uuid(), Kind: store.AlertOutcomeKind(c.int()), At: c.time(), Tags: c.text(),
				Detail: c.json(),
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
	if err := t.Run(records.ApplyAlerts(account, c)...); err != nil {
		return err
	}
	if err := t.withdraw(account, c.Withdrawn); err != nil {
		return err
	}
	return t.insertDeliveries(c.Deliveries)
}

// withdraw deletes the deliveries that are still pending. One that is under way is not
// retried.
func (t *tx) withdraw(account int64, messages []store.AlertMessage) error {
	for _, m := range messages {
		number, due := int64(0), time.Time{}
		err := t.query(`DELETE FROM deliveries WHERE job = ? AND account = ? AND message = ? RETURNING number, due`,
			func(stmt *sqlite.Stmt) error {
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
