package sqlite

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// events maps numbers in the table to events. Those from rareEvent on have an
// index of their own.
var events = []string{1: job.EventRequest, job.EventResponse, job.EventError, job.EventCallbackFailed, job.EventWebhookFailed,
	job.EventStateRejected, job.EventSkipped, job.EventEnded, job.EventAlertFailed, job.EventCompletion, job.EventOrphaned}

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
	text := pack(l.Payload)
	err := t.exec(`INSERT INTO logs (id, account, job, event, inserted_at, payload, packed, size) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		l.ID, l.Owner.Number, l.Job, eventNumber(l.Event), l.InsertedAt, text.plain, text.packed, text.size)
	if err != nil {
		return fmt.Errorf("inserting a log: %w", err)
	}
	return nil
}

const logColumns = `l.id, l.account, l.job, l.event, l.inserted_at, l.payload, l.packed, l.size`

func (t *tx) scanLog(stmt *sqlite.Stmt) (l *job.Log, err error) {
	c := &columns{stmt: stmt}
	l = &job.Log{ID: c.uuid()}
	account := c.int64()
	l.Job, l.Event, l.InsertedAt, l.Payload = c.int64(), events[c.int()], c.time(), c.packable()
	l.Owner, err = t.owner(account)
	return l, err
}

func (t *tx) logsWhere(where string, args ...any) ([]*job.Log, error) {
	var logs []*job.Log
	err := t.query(`SELECT `+logColumns+` FROM logs l WHERE `+where, func(stmt *sqlite.Stmt) error {
		l, err := t.scanLog(stmt)
		logs = append(logs, l)
		return err
	}, args...)
	return logs, err
}

// logsNumbered reads logs by their numbers in the table, in the order given, up
// to and including the first that exceeds a budget of bytes.
func (t *tx) logsNumbered(rows []int64, budget int) ([]*job.Log, error) {
	var logs []*job.Log
	err := eachRow(t, `SELECT `+logColumns+` FROM logs l WHERE l.seq = ?`, rows, budget, func(stmt *sqlite.Stmt) (int, error) {
		l, err := t.scanLog(stmt)
		logs = append(logs, l)
		return job.LogSize(l), err
	})
	return logs, err
}

// LogGet implements store.Logs.
func (s *Store) LogGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Log, error) {
	found, err := one(ctx, s, func(t *tx) (*job.Log, error) {
		logs, err := t.logsWhere(`l.account = ? AND l.id = ? AND l.inserted_at <= ?`, owner.Number, id, t.now)
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
