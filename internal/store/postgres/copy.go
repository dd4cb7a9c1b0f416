package postgres

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// The statements that store copied records. They skip records that exist.

func copySchedules(schedules []*job.Schedule) []query {
	if len(schedules) == 0 {
		return nil
	}
	type row = *job.Schedule
	_, tags := labels(schedules, func(s *row) rawjson.Value { return (*s).Args })
	return []query{{
		sql: `INSERT INTO schedules (account, id, key, name, description, inserted_at, disabled_at, first_due, epoch, args, state, previous, hops, revision, document, tags, runs, ended, since, failures, failing_since, failure)
			SELECT account, id, key, name, description, inserted_at, disabled_at, first_due, epoch, args, state, previous, hops, revision, document, string_to_array(tags, ' '), runs, ended, since, failures, failing_since, failure FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
				$10::text[], $11::text[], $12::text[], $13::smallint[], $14::text[], $15::bigint[], $16::bigint[], $17::text[], $18::bigint[], $19::text[], $20::bigint[], $21::bigint[], $22::text[])
				AS u (account, id, key, name, description, inserted_at, disabled_at, first_due, epoch, args, state, previous, hops, tags, revision, runs, ended, since, document, failures, failing_since, failure)
			ON CONFLICT (account, id) DO NOTHING`,
		args: []any{
			column(schedules, func(s *row) int64 { return (*s).Owner.Number }),
			column(schedules, func(s *row) uuid.UUID { return (*s).ID }),
			column(schedules, func(s *row) *string { return optional((*s).Key) }),
			column(schedules, func(s *row) *string { return optional((*s).Name) }),
			column(schedules, func(s *row) *string { return optional((*s).Description) }),
			column(schedules, func(s *row) int64 { return (*s).InsertedAt.UnixMicro() }),
			column(schedules, func(s *row) *int64 { return micros((*s).DisabledAt) }),
			column(schedules, func(s *row) int64 { return (*s).FirstDue.UnixMicro() }),
			column(schedules, func(s *row) int64 { return (*s).Epoch }),
			column(schedules, func(s *row) *string { return jsonText(job.JoinArgs((*s).Args, &(*s).Hidden)) }),
			column(schedules, func(s *row) *string { return jsonText((*s).State) }),
			column(schedules, func(s *row) *string { return jsonText(job.JoinPrevious(*s)) }),
			column(schedules, func(s *row) int16 { return int16((*s).Hops) }),
			tags, column(schedules, func(s *row) int64 { return (*s).Revision }),
			column(schedules, func(s *row) int64 { return (*s).Runs }),
			column(schedules, func(s *row) string { return string((*s).Ended) }),
			column(schedules, func(s *row) *int64 { return micros((*s).Since) }),
			column(schedules, func(s *row) string { return text((*s).Document) }),
			column(schedules, func(s *row) int64 { return (*s).Failures }),
			column(schedules, func(s *row) *int64 { return micros((*s).FailingSince) }),
			column(schedules, func(s *row) string { return text((*s).Failure) }),
		},
	}}
}

func (s *Store) copyJobs(jobs []store.StoredJob) []query {
	if len(jobs) == 0 {
		return nil
	}
	type row = store.StoredJob
	hosts, tags := labels(jobs, func(j *row) rawjson.Value { return j.Args })
	args := packTexts(s, jobs, func(j *row) rawjson.Value { return job.JoinArgs(j.Args, &j.Hidden) })
	var items []queued
	var limited []limitedEntry
	for _, j := range jobs {
		if j.State.Final() {
			continue
		}
		limited = append(limited, limitedEntriesOf(j.Job)...)
		if j.Follows == 0 {
			items = append(items, queued{itemOf(j.Job, j.Lane), j.Attempt})
		}
	}
	waiting, _ := storeLimited(limited)
	return append([]query{{
		sql: `INSERT INTO jobs (account, number, id, state, schedule_id, key, inserted_at, scheduled_at, due_at,
				attempted_at, completed_at, cancelled_at, discarded_at, name, description, args, hops, revision, rerun_of, host, tags,
				follows, lane, held_until, remembered_until, runs, skipped, trace, packed, size, key_request, parent)
			SELECT account, number, id, state, schedule_id, key, inserted_at, scheduled_at, due_at,
				attempted_at, completed_at, cancelled_at, discarded_at, name, description, args, hops, revision, rerun_of, host, string_to_array(tags, ' '),
				follows, CASE WHEN follows IS NOT NULL THEN lane END, held_until, remembered_until, runs, skipped, trace, packed, size, key_request, parent FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::smallint[], $5::uuid[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[],
				$10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::text[], $15::text[], $16::text[], $17::smallint[], $18::text[], $19::text[],
				$20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[], $24::bigint[], $25::bigint[], $26::bigint[], $27::bigint[], $28::bytea[], $29::bytea[], $30::smallint[], $31::bytea[], $32::bigint[])
				AS u (account, number, id, state, schedule_id, key, inserted_at, scheduled_at, due_at,
					attempted_at, completed_at, cancelled_at, discarded_at, name, description, args, hops, host, tags,
					follows, lane, held_until, remembered_until, revision, rerun_of, runs, skipped, trace, packed, size, key_request, parent)
			ON CONFLICT (account, number) DO NOTHING`,
		args: []any{
			column(jobs, func(j *row) int64 { return j.Owner.Number }), column(jobs, func(j *row) int64 { return j.Number }),
			column(jobs, func(j *row) uuid.UUID { return j.ID }), column(jobs, func(j *row) int16 { return int16(j.State) }),
			column(jobs, func(j *row) pgtype.UUID { return id(j.ScheduleID) }),
			column(jobs, func(j *row) *string { return optional(j.Key) }),
			column(jobs, func(j *row) int64 { return j.InsertedAt.UnixMicro() }),
			column(jobs, func(j *row) int64 { return j.ScheduledAt.UnixMicro() }),
			column(jobs, func(j *row) int64 { return j.DueAt.UnixMicro() }),
			column(jobs, func(j *row) *int64 { return micros(j.AttemptedAt) }),
			column(jobs, func(j *row) *int64 { return micros(j.CompletedAt) }),
			column(jobs, func(j *row) *int64 { return micros(j.CancelledAt) }),
			column(jobs, func(j *row) *int64 { return micros(j.DiscardedAt) }),
			column(jobs, func(j *row) *string { return optional(j.Name) }),
			column(jobs, func(j *row) *string { return optional(j.Description) }), args.plain,
			column(jobs, func(j *row) int16 { return int16(j.Hops) }), hosts, tags,
			column(jobs, func(j *row) *int64 { return numberOrNull(j.Follows) }), column(jobs, func(j *row) int64 { return int64(j.Lane) }),
			column(jobs, func(j *row) *int64 { return micros(j.HeldUntil) }),
			column(jobs, func(j *row) *int64 { return micros(j.RememberedUntil) }),
			column(jobs, func(j *row) int64 { return j.Revision }), column(jobs, func(j *row) *int64 { return numberOrNull(j.RerunOf) }),
			column(jobs, func(j *row) int64 { return j.Runs }), column(jobs, func(j *row) int64 { return j.Skipped }),
			column(jobs, func(j *row) []byte { return j.Trace }), args.packed, args.sizes,
			column(jobs, func(j *row) []byte { return j.KeyRequest }), column(jobs, func(j *row) *int64 { return numberOrNull(j.Parent) }),
		},
	}}, append(append(copyItems(items), waiting...), insertSecretUses(jobs, func(j *row) *job.Job { return j.Job })...)...)
}

// copyItems stores queue items without a notice: no node runs during a copy.
func copyItems(items []queued) []query {
	if len(items) == 0 {
		return nil
	}
	return []query{{
		sql: `INSERT INTO runs (due, kind, number, account, lane, attempt, revision)
			SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[], $7::bigint[]) ON CONFLICT DO NOTHING`,
		args: append(refColumns(column(items, func(q *queued) store.QueueKey { return q.QueueKey })),
			column(items, func(q *queued) int64 { return int64(q.Lane) }), column(items, func(q *queued) int { return q.attempt }),
			column(items, func(q *queued) int64 { return q.Revision })),
	}}
}

func copyLogs(t *tx, logs []*job.Log) []query {
	all := insertLogs(t, logs)
	for i := range all {
		all[i].sql += ` ON CONFLICT (account, id) DO NOTHING`
	}
	return all
}

func copyDeliveries(deliveries []*store.PendingDelivery) []query {
	if len(deliveries) == 0 {
		return nil
	}
	type row = *store.PendingDelivery
	lanes := column(deliveries, func(d *row) int64 { return int64(job.Lane((*d).URL)) })
	var items []queued
	for i, d := range deliveries {
		if !d.Waits {
			ref := store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery, Number: d.Number}, Due: d.DueAt, Account: d.Owner.Number,
				Lane: uint32(lanes[i])}
			items = append(items, queued{ref, d.Attempt})
		}
	}
	return append([]query{{
		sql: `INSERT INTO deliveries (account, number, message, job, job_attempt, channel, lane, url, event, attempt, due, begin_at, body, parts)
			SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::integer[], $6::smallint[], $7::bigint[], $8::text[], $9::text[],
				$10::integer[], $11::bigint[], $12::bigint[], $13::text[], $14::text[])
			ON CONFLICT (account, number) DO NOTHING`,
		args: []any{
			column(deliveries, func(d *row) int64 { return (*d).Owner.Number }),
			column(deliveries, func(d *row) int64 { return (*d).Number }),
			column(deliveries, func(d *row) string { return text((*d).MessageID) }),
			column(deliveries, func(d *row) int64 { return (*d).Job }),
			column(deliveries, func(d *row) int { return (*d).JobAttempt }),
			column(deliveries, func(d *row) int16 { return int16((*d).Channel) }),
			lanes, column(deliveries, func(d *row) string { return text((*d).URL) }),
			column(deliveries, func(d *row) string { return text((*d).Event) }),
			column(deliveries, func(d *row) int { return (*d).Attempt }), column(deliveries, dueUnlessWaiting),
			column(deliveries, func(d *row) int64 { return (*d).DueAt.UnixMicro() }),
			column(deliveries, func(d *row) *string { return jsonText((*d).Body) }),
			column(deliveries, func(d *row) *string { return orNull(job.FormatParts((*d).Parts)) }),
		},
	}}, copyItems(items)...)
}

// dueUnlessWaiting returns when a delivery is due; nil while it waits for an
// earlier event.
func dueUnlessWaiting(d **store.PendingDelivery) *int64 {
	if (*d).Waits {
		return nil
	}
	return micros((*d).DueAt)
}
