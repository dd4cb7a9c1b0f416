package records

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var months = Table[store.ScheduleMonth]{
	Name: "schedule_months", Key: []string{"account", "schedule", "month"},
	Columns: []Column[store.ScheduleMonth]{
		{"account", func(m *store.ScheduleMonth) any { return &m.Account }},
		{"schedule", func(m *store.ScheduleMonth) any { return &m.Schedule }},
		{"month", func(m *store.ScheduleMonth) any { return &m.Month }},
		{"through", func(m *store.ScheduleMonth) any { return &m.Through }},
		{"counts", func(m *store.ScheduleMonth) any { return &m.Counts }},
	},
}

// endedAt is when a job became final, as the index jobs_final has it.
const endedAt = `coalesce(completed_at, cancelled_at, discarded_at)`

// MonthsEnded implements store.Months. It reads the jobs that became final at the time of
// the cursor, then those that did later, because SQLite finds rows behind a time and a number
// only so by an index of an expression.
func (r *Records) MonthsEnded(
	ctx context.Context, after store.PruneCursor, before time.Time, limit int,
) (ended store.EndedSchedules, err error) {
	var seen map[store.ScheduleKey]bool
	read := 0
	behind := func(condition, order string, args ...any) Query {
		return Query{
			SQL: `SELECT account, schedule_id, ` + endedAt + `, number FROM jobs INDEXED BY jobs_final
				WHERE state >= 4 AND ` + condition + ` ORDER BY ` + order + ` LIMIT $3`,
			Args: append(args, limit),
			Row: func(row Row) error {
				if read == limit {
					return nil
				}
				read++
				var key store.ScheduleKey
				err := scan(row, &key.Account, &key.Schedule, &ended.Next.At, &ended.Next.Number)
				if err == nil && key.Schedule != uuid.Nil && !seen[key] {
					seen[key] = true
					ended.Keys = append(ended.Keys, key)
				}
				return err
			},
		}
	}
	same := behind(endedAt+` = $1 AND number > $2`, `number`, Instant(after.At), after.Number)
	same.Start = func() { ended, seen, read = store.EndedSchedules{Next: after}, map[store.ScheduleKey]bool{}, 0 }
	later := behind(endedAt+` > $1 AND `+endedAt+` < $2`, endedAt+`, number`, Instant(after.At), Instant(before))
	err = r.engine.Read(ctx, Background, same, later)
	ended.More = read == limit
	return ended, err
}

// MonthsRead implements store.Months.
func (r *Records) MonthsRead(ctx context.Context, keys []store.ScheduleKey, limit int) ([]store.RunMonths, error) {
	return r.readMonths(ctx, Background, keys, limit)
}

// MonthsOf implements store.Months.
func (r *Records) MonthsOf(ctx context.Context, key store.ScheduleKey, limit int) (*store.RunMonths, error) {
	found, err := r.readMonths(ctx, Heavy, []store.ScheduleKey{key}, limit)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fault.NoSuch("schedule")
	}
	return &found[0], nil
}

// readMonths is MonthsRead with a class of reads. The logs of most runs need not be read.
func (r *Records) readMonths(ctx context.Context, class Class, keys []store.ScheduleKey, limit int) ([]store.RunMonths, error) {
	all := make([]store.RunMonths, len(keys))
	exists := make([]bool, len(keys))
	var queries []Query
	for i, key := range keys {
		queries = append(queries, Query{
			SQL:  `SELECT inserted_at FROM schedules WHERE account = $1 AND id = $2`,
			Args: []any{key.Account, key.Schedule}, Start: func() { exists[i] = false },
			Row: func(row Row) error {
				exists[i] = true
				return scan(row, &all[i].Created)
			},
		}, months.Select(&all[i].Months, nil, `WHERE account = $1 AND schedule = $2 ORDER BY month`, key.Account, key.Schedule))
	}
	if err := r.engine.Read(ctx, class, queries...); err != nil {
		return nil, err
	}
	found := all[:0]
	for i, one := range all {
		if one.ScheduleKey = keys[i]; exists[i] {
			for _, m := range one.Months {
				one.Through = max(one.Through, m.Through)
			}
			found = append(found, one)
		}
	}
	queries = queries[:0]
	for i := range found {
		queries = append(queries, runsAfter(&found[i], limit))
	}
	if err := r.engine.Read(ctx, class, queries...); err != nil {
		return nil, err
	}
	queries = queries[:0]
	for i := range found {
		of := &found[i]
		for k := range of.Runs {
			if run := &of.Runs[k]; !plain(run) {
				queries = append(queries, logsOfRun(of.Account, run))
			}
		}
	}
	return found, r.engine.Read(ctx, class, queries...)
}

// runsAfter reads the final runs that are not counted, up to the first that is not final. It
// compares rows, as logsOfRun does, because with schedule_id = $2 PostgreSQL might read all
// jobs of the account in the order of their numbers. See the dialects for SQLite.
func runsAfter(of *store.RunMonths, limit int) Query {
	open := false
	return Query{
		SQL: `SELECT number, state, inserted_at, scheduled_at, due_at, attempted_at, ` + endedAt + `, skipped
			FROM jobs INDEXED BY jobs_schedule WHERE account = $1 AND schedule_id <= $2 AND (schedule_id, number) > ($2, $3)
			ORDER BY schedule_id, number LIMIT $4`,
		Args:  []any{of.Account, of.Schedule, of.Through, limit},
		Start: func() { of.Runs, of.More, open = nil, false, false },
		Row: func(row Row) error {
			var run store.EndedRun
			var state int
			err := scan(row, &run.Number, &state, &run.InsertedAt, &run.ScheduledAt, &run.DueAt, &run.AttemptedAt, &run.EndedAt, &run.Skipped)
			if run.State = job.State(state); open || !run.State.Final() {
				open = true
				return err
			}
			of.Runs = append(of.Runs, run)
			of.More = len(of.Runs) == limit
			return err
		},
	}
}

// plain reports whether a run certainly had one attempt and stands for one point: it began
// at once, and ended before another point or retry could be due.
func plain(run *store.EndedRun) bool {
	return run.Skipped == 0 && !run.AttemptedAt.IsZero() && run.AttemptedAt.Sub(run.ScheduledAt) < 10*time.Millisecond &&
		run.EndedAt.Sub(run.ScheduledAt) < time.Second
}

// The numbers of events in the table of logs, see events in both stores, and how many
// logs of a run are read.
const (
	eventRequest = 1
	eventSkipped = 7
	maxRunLogs   = 64
)

// logsOfRun reads the times of a run's requests, without what they have sent and received,
// and its skipped points.
func logsOfRun(account int64, run *store.EndedRun) Query {
	return Query{
		SQL: `SELECT event, inserted_at, CASE WHEN event = 7 THEN payload END, CASE WHEN event = 7 THEN packed END, coalesce(size, 0)
			FROM logs INDEXED BY logs_job
			WHERE account = $1 AND job <= $2 AND (job, id) > ($2, $3) AND event IN (1, 7) ORDER BY job, id LIMIT $4`,
		Args:  []any{account, run.Number, uuid.Nil, maxRunLogs},
		Start: func() { run.Requests, run.FirstAt, run.Skips = 0, time.Time{}, nil },
		Row: func(row Row) error {
			var event, size int
			var at time.Time
			var text rawjson.Value
			var packed []byte
			if err := scan(row, &event, &at, &text, &packed, &size); err != nil {
				return err
			}
			switch event {
			case eventRequest:
				if run.Requests++; run.Requests == 1 {
					run.FirstAt = at
				}
			case eventSkipped:
				run.Skips = append(run.Skips, store.Unpack(text, packed, size))
			}
			return nil
		},
	}
}

// MonthsWrite implements store.Months. Whoever writes locks the cursor, so that of several
// nodes one counts a run.
func (r *Records) MonthsWrite(ctx context.Context, changes []store.MonthsChange) error {
	size := 0
	for _, c := range changes {
		for _, m := range c.Months {
			size += len(m.Counts) + 100
		}
	}
	return r.engine.WriteSized(ctx, size, func(t Tx) ([]Query, error) {
		through, exists := make([]int64, len(changes)), make([]bool, len(changes))
		queries := []Query{{SQL: `SELECT at FROM schedule_months_mark WHERE id = 1 FOR UPDATE`, Lock: true}}
		for i := range changes {
			key := changes[i].ScheduleKey
			queries = append(queries, Query{
				SQL:  `SELECT 1 FROM schedules WHERE account = $1 AND id = $2 FOR KEY SHARE`,
				Args: []any{key.Account, key.Schedule}, Start: func() { exists[i] = false },
				Row: func(Row) error {
					exists[i] = true
					return nil
				},
			}, Query{
				SQL:  `SELECT coalesce(max(through), 0) FROM schedule_months WHERE account = $1 AND schedule = $2`,
				Args: []any{key.Account, key.Schedule}, Row: into(&through[i]),
			})
		}
		if err := t.Run(queries...); err != nil {
			return nil, err
		}
		var puts []Query
		for i := range changes {
			if !exists[i] || through[i] != changes[i].Through {
				continue
			}
			for _, m := range changes[i].Months {
				puts = append(puts, months.Put(m))
			}
		}
		return puts, nil
	})
}

// MonthsCursor implements store.Months.
func (r *Records) MonthsCursor(ctx context.Context) (cursor store.PruneCursor, err error) {
	err = r.engine.Read(ctx, Background, Query{
		SQL: `SELECT at, number FROM schedule_months_mark WHERE id = 1`, Row: into(&cursor.At, &cursor.Number),
	})
	return cursor, err
}

// MonthsCursorPut implements store.Months.
func (r *Records) MonthsCursorPut(ctx context.Context, cursor store.PruneCursor) error {
	return r.write(ctx, Query{
		SQL:  `UPDATE schedule_months_mark SET at = $1, number = $2 WHERE id = 1 AND (at < $1 OR at = $1 AND number < $2)`,
		Args: []any{Instant(cursor.At), cursor.Number},
	})
}

// MonthsPrune implements store.Months.
func (r *Records) MonthsPrune(ctx context.Context, before int64, limit int) (int, error) {
	return r.prune(ctx, "schedule_months", months.Key, `WHERE month < $1 LIMIT $2`, before, limit)
}

// MonthsPage implements store.Months.
func (r *Records) MonthsPage(
	ctx context.Context, account int64, after uuid.UUID, month int64, limit int,
) ([]*store.ScheduleMonth, error) {
	return read(ctx, r, Background, &months,
		`WHERE account = $1 AND (schedule, month) > ($2, $3) ORDER BY schedule, month LIMIT $4`,
		account, after, month, limit)
}

// MonthsCopy implements store.Months.
func (r *Records) MonthsCopy(ctx context.Context, copied []*store.ScheduleMonth) error {
	return r.write(ctx, copies(&months, copied)...)
}
