package records

import (
	"context"
	"fmt"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// payloadSize is the size of the payload of log l; the column is null if it is not packed.
	payloadSize = `coalesce(l.size, octet_length(l.payload))`
	// jobBytes is the size of job j with all that belongs to it.
	jobBytes = `coalesce(j.size, octet_length(j.args))::bigint + coalesce(octet_length(j.name), 0) + coalesce(octet_length(j.description), 0) +
		(SELECT coalesce(sum(octet_length(d.body)), 0)::bigint FROM deliveries d WHERE d.account = j.account AND d.job = j.number) +
		(SELECT coalesce(sum(coalesce(octet_length(c.sealed), 0) + coalesce(octet_length(c.early), 0) + coalesce(octet_length(c.progress), 0)), 0)::bigint
			FROM completions c WHERE c.account = j.account AND c.job = j.number) + ` + revisionsOfJob
	revisionsOfJob      = `CASE WHEN j.revision > 1 THEN (SELECT coalesce(sum(octet_length(r.changes)), 0)::bigint FROM revisions r WHERE r.account = j.account AND r.record = j.id) ELSE 0 END`
	revisionsOfSchedule = `CASE WHEN s.revision > 1 THEN (SELECT coalesce(sum(octet_length(r.changes)), 0)::bigint FROM revisions r WHERE r.account = s.account AND r.record = s.id) ELSE 0 END`
)

// sizedParts are the records of an account behind its jobs: their alias and table, and the
// size of one.
var sizedParts = [store.ByteParts][2]string{
	1: {`schedules s`, `octet_length(s.args)::bigint + coalesce(octet_length(s.state), 0) + coalesce(octet_length(s.previous), 0) + ` + revisionsOfSchedule},
	2: {`logs l`, payloadSize + `::bigint`},
	3: {`requests q`, fmt.Sprintf(`%d::bigint`, store.RequestSize)},
}

// AccountBytes implements store.Quotas.
func (r *Records) AccountBytes(ctx context.Context, account int64, from store.ByteCursor,
	rows int) (bytes int64, next *store.ByteCursor, err error) {
	read, cursor := 0, from
	q := Query{Start: func() { bytes, read, cursor = 0, 0, from }}
	count := func(row Row, position ...any) error {
		n := int64(0)
		err := row.Scan(append([]any{&n}, position...)...)
		bytes += n
		read++
		return err
	}
	if from.Part == 0 {
		q.SQL = `SELECT ` + jobBytes + `, j.state, j.number
			FROM jobs j WHERE j.account = $1 AND (j.state, j.number) > ($2, $3) ORDER BY j.state, j.number LIMIT $4`
		q.Args = []any{account, int64(from.State), from.Number, rows}
		q.Row = func(row Row) error {
			state := int64(0)
			err := count(row, &state, &cursor.Number)
			cursor.State = job.State(state)
			return err
		}
	} else {
		part := sizedParts[from.Part]
		alias := part[0][len(part[0])-1:]
		q.SQL = `SELECT ` + part[1] + `, ` + alias + `.id FROM ` + part[0] + ` WHERE ` + alias + `.account = $1` +
			` AND ` + alias + `.id > $2 ORDER BY ` + alias + `.id LIMIT $3`
		q.Args = []any{account, from.ID, rows}
		q.Row = func(row Row) error { return count(row, &cursor.ID) }
	}
	if err := r.engine.Read(ctx, Background, q); err != nil {
		return 0, nil, err
	}
	if read == rows {
		return bytes, &cursor, nil
	}
	if cursor = (store.ByteCursor{Part: from.Part + 1}); cursor.Part < store.ByteParts {
		next = &cursor
	}
	return bytes, next, nil
}
