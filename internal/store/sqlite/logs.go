package sqlite

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// events gives every event its number in the table; those from rareEvent on
// have an index of their own.
var events = []string{1: job.EventRequest, job.EventResponse, job.EventError, job.EventCallbackFailed, job.EventWebhookFailed, job.EventStateRejected}

const rareEvent = 3

func eventNumber(name string) int {
	for number, known := range events {
		if known == name && known != "" {
			return number
		}
	}
	return 0
}

func (t *tx) insertLog(l *job.Log) error {
	err := t.exec(`INSERT INTO logs (id, account, job, event, inserted_at, payload) VALUES (?, ?, ?, ?, ?, ?)`,
		l.ID, l.Owner.Number, l.Job, eventNumber(l.Event), l.InsertedAt, l.Payload)
	if err != nil {
		return fmt.Errorf("inserting a log: %w", err)
	}
	return nil
}

const logColumns = `l.id, l.account, l.job, l.event, l.inserted_at, l.payload`

func (t *tx) logsWhere(from, where string, args ...any) ([]*job.Log, error) {
	var logs []*job.Log
	err := t.query(`SELECT `+logColumns+` FROM `+from+` WHERE `+where, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		l := &job.Log{ID: c.uuid()}
		account := c.int64()
		l.Job, l.Event, l.InsertedAt, l.Payload = c.int64(), events[c.int()], c.time(), c.json()
		var err error
		l.Owner, err = t.owner(account)
		logs = append(logs, l)
		return err
	}, args...)
	return logs, err
}

// LogGet implements store.Logs.
func (s *Store) LogGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Log, error) {
	found, err := one(ctx, s, func(t *tx) (*job.Log, error) {
		logs, err := t.logsWhere(`logs l`, `l.account = ? AND l.id = ? AND l.inserted_at <= ?`, owner.Number, id, t.now)
		if err != nil || len(logs) == 0 {
			return nil, err
		}
		return logs[0], nil
	})
	if err == nil && found == nil {
		return nil, fault.NoSuch("log")
	}
	return found, err
}
