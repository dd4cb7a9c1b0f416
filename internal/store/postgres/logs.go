package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// events maps numbers in the table to events. Those from rareEvent on have an
// index of their own.
var events = []string{1: job.EventRequest, job.EventResponse, job.EventError, job.EventCallbackFailed, job.EventWebhookFailed,
	job.EventStateRejected, job.EventSkipped, job.EventEnded, job.EventAlertFailed, job.EventCompletion, job.EventOrphaned}

const rareEvent = 3

func eventNumber(name string) int16 {
	for number, known := range events {
		if known == name && known != "" {
			return int16(number)
		}
	}
	return 0
}

func insertLogs(t *tx, logs []*job.Log) []query {
	if len(logs) == 0 {
		return nil
	}
	type row = *job.Log
	payloads := packTexts(t.store, logs, func(l *row) rawjson.Value { return (*l).Payload })
	return []query{{
		sql: `INSERT INTO logs (account, id, job, event, inserted_at, payload, packed, size)
			SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::smallint[], $5::bigint[], $6::text[], $7::bytea[], $8::smallint[])`,
		args: []any{
			column(logs, func(l *row) int64 { return (*l).Owner.Number }), column(logs, func(l *row) uuid.UUID { return (*l).ID }),
			column(logs, func(l *row) int64 { return (*l).Job }), column(logs, func(l *row) int16 { return eventNumber((*l).Event) }),
			column(logs, func(l *row) int64 { return (*l).InsertedAt.UnixMicro() }), payloads.plain, payloads.packed, payloads.sizes,
		},
	}}
}

const logColumns = `l.id, l.job, l.event, l.inserted_at, l.payload, l.packed, l.size`

// logsOf returns a query for an owner's logs.
func logsOf(owner job.Owner, sql string, args []any, logs *[]*job.Log) query {
	return query{sql: sql, args: args, start: func() { *logs = nil }, row: func(rows pgx.Rows) error {
		l := &job.Log{Owner: owner}
		var event int
		var payload packedText
		if err := rows.Scan(idOf{&l.ID}, &l.Job, &event, timeOf{&l.InsertedAt}, &payload.plain, &payload.packed,
			sizeOf{&payload, &l.Payload}); err != nil {
			return err
		}
		l.Event = events[event]
		*logs = append(*logs, l)
		return nil
	}}
}

// LogGet implements store.Logs.
func (s *Store) LogGet(ctx context.Context, owner job.Owner, which uuid.UUID) (*job.Log, error) {
	var logs []*job.Log
	err := s.readAs(ctx, pages, logsOf(owner, `SELECT `+logColumns+
		` FROM logs l WHERE l.account = (SELECT $1::bigint) AND l.id = $2 AND l.inserted_at <= $3`,
		[]any{owner.Number, which, s.Now().UnixMicro()}, &logs))
	if err != nil {
		return nil, err
	}
	if len(logs) == 0 {
		return nil, fault.NoSuch("log")
	}
	return logs[0], nil
}
