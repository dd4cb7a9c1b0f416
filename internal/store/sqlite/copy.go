package sqlite

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

var _ store.Copyable = (*Store)(nil)

// CopyBegin implements store.Copyable.
func (s *Store) CopyBegin(ctx context.Context, source string) (mark string, err error) {
	err = s.write(ctx, func(t *tx) error {
		mark = ""
		begun, whole, used := false, false, false
		err := t.query(`SELECT mark FROM transfers WHERE source = ?`, func(stmt *sqlite.Stmt) error {
			begun, whole, mark = true, stmt.ColumnIsNull(0), stmt.ColumnText(0)
			return nil
		}, source)
		if err != nil {
			return fmt.Errorf("looking for a copy: %w", err)
		}
		switch {
		case whole:
			return fault.New(fault.Invalid, "it is a finished copy of the same records already; give an empty database to copy once more")
		case begun:
			return nil
		}
		err = t.query(`SELECT EXISTS (SELECT 1 FROM accounts) OR EXISTS (SELECT 1 FROM jobs) OR EXISTS (SELECT 1 FROM logs) OR EXISTS (SELECT 1 FROM audits) OR EXISTS (SELECT 1 FROM transfers)`,
			func(stmt *sqlite.Stmt) error {
				used = stmt.ColumnBool(0)
				return nil
			})
		if err != nil {
			return fmt.Errorf("looking for records: %w", err)
		}
		if used {
			return fault.New(fault.Invalid, "it is not empty, or holds an unfinished copy of other records; give an empty database to copy to")
		}
		return t.exec(`INSERT INTO transfers (source, mark, started_at) VALUES (?, '', ?)`, source, t.now)
	})
	return mark, err
}

// noCopy returns the fault for writing to a copy that is not under way.
func noCopy() error {
	return fault.New(fault.Invalid, "no copy of these records is under way there")
}

// CopyWrite implements store.Copyable.
func (s *Store) CopyWrite(ctx context.Context, source, mark string, copied *store.Records) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.exec(`UPDATE transfers SET mark = ? WHERE source = ? AND mark IS NOT NULL`, mark, source); err != nil {
			return fmt.Errorf("storing the mark of a copy: %w", err)
		}
		if t.changed() == 0 {
			return noCopy()
		}
		for _, write := range []func(*store.Records) error{
			t.copyRecords, t.copySchedules, t.copyJobs, t.copyLogs, t.copyRequests, t.copyDeliveries,
		} {
			if err := write(copied); err != nil {
				return fmt.Errorf("storing copied records: %w", err)
			}
		}
		return nil
	})
}

// copyRecords stores what package records stores.
func (t *tx) copyRecords(r *store.Records) error { return t.Run(records.Copy(r)...) }

func (t *tx) copySchedules(r *store.Records) error {
	for _, s := range r.Schedules {
		_, tags := labels(s.Args)
		err := t.exec(`INSERT INTO schedules (id, account, key, name, description, inserted_at, disabled_at, first_due, epoch, hops, revision, args, state, previous, tags, runs, ended, since, document,
				failures, failing_since, failure)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			s.ID, s.Owner.Number, s.Key, s.Name, s.Description, s.InsertedAt, s.DisabledAt, instant(s.FirstDue), s.Epoch, s.Hops,
			s.Revision, job.JoinArgs(s.Args, &s.Hidden), s.State, job.JoinPrevious(s), tags, s.Runs, string(s.Ended), s.Since, s.Document,
			s.Failures, s.FailingSince, s.Failure)
		if err == nil {
			err = t.tag(scheduleTags, s.Owner.Number, s.ID, tags)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) copyJobs(r *store.Records) error {
	for _, j := range r.Jobs {
		var keys []string
		if !j.State.Final() {
			keys = store.Hold(j.Job)
		}
		host, tags := labels(j.Args)
		text := pack(job.JoinArgs(j.Args, &j.Hidden))
		err := t.exec(`INSERT INTO jobs (number, id, account, state, schedule_id, key, inserted_at, scheduled_at, due_at,
				attempted_at, completed_at, cancelled_at, discarded_at, name, description, hops, revision, rerun_of, args, host, tags, runs, skipped,
				follows, lane, held_until, remembered_until, key_request, trace, packed, size, room, parent)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (number) DO NOTHING`,
			j.Number, j.ID, j.Owner.Number, j.State, j.ScheduleID, j.Key, j.InsertedAt, instant(j.ScheduledAt), j.DueAt,
			j.AttemptedAt, j.CompletedAt, j.CancelledAt, j.DiscardedAt, j.Name, j.Description, j.Hops, j.Revision, numberOrNull(j.RerunOf),
			text.plain, host, tags, j.Runs, j.Skipped,
			numberOrNull(j.Follows), laneOf(j.Job, j.Lane), j.HeldUntil, j.RememberedUntil, j.KeyRequest, j.Trace, text.packed, text.size,
			reservedFor(j.Job), numberOrNull(j.Parent))
		if err == nil {
			err = t.tag(jobTags, j.Owner.Number, j.Number, tags)
		}
		if err != nil {
			return err
		}
		if j.State.Final() {
			continue
		}
		if err := t.addSecretUses(j.Job, job.SecretNames(j.Job)); err != nil {
			return err
		}
		if err := t.limitJob(j.Job, keys); err != nil {
			return err
		}
		if j.Follows != 0 {
			continue
		}
		ref := store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: j.Number}, Due: j.DueAt, Account: j.Owner.Number,
			Lane: j.Lane, Revision: j.Revision}
		if err := t.copyItem(ref, j.Attempt); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) copyItem(ref store.QueueKey, attempt int) error {
	return t.exec(`INSERT INTO runs (due, kind, number, account, lane, attempt, revision) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		ref.Due, ref.Kind, ref.Number, ref.Account, ref.Lane, attempt, ref.Revision)
}

// seqsPerMicrosecond is how many sequence numbers of logs a microsecond has.
const seqsPerMicrosecond = 8

// copyLogs stores logs in order of time, in whatever order they arrive, because
// LogPrune expects the oldest logs first.
func (t *tx) copyLogs(r *store.Records) error {
	var begin, seq int64 // the first sequence number of a microsecond, and the next that may be free
	for _, l := range r.Logs {
		there := false
		err := t.query(`SELECT 1 FROM logs WHERE account = ? AND id = ?`, func(*sqlite.Stmt) error {
			there = true
			return nil
		}, l.Owner.Number, l.ID)
		if err != nil {
			return err
		}
		if first := l.InsertedAt.UnixMicro() * seqsPerMicrosecond; first != begin {
			begin, seq = first, first
		}
		text := pack(l.Payload)
		for ; !there; seq++ {
			err := t.exec(`INSERT INTO logs (seq, id, account, job, event, inserted_at, payload, packed, size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (seq) DO NOTHING`,
				seq, l.ID, l.Owner.Number, l.Job, eventNumber(l.Event), l.InsertedAt, text.plain, text.packed, text.size)
			if err != nil {
				return err
			}
			there = t.changed() > 0 // else another log has the number
		}
	}
	return nil
}

func (t *tx) copyDeliveries(r *store.Records) error {
	for _, d := range r.Deliveries {
		var due any = d.DueAt
		if d.Waits {
			due = nil
		}
		err := t.exec(`INSERT INTO deliveries (number, message, account, job, job_attempt, channel, url, event, attempt, due, begin_at, body, parts)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (number) DO NOTHING`,
			d.Number, d.MessageID, d.Owner.Number, d.Job, d.JobAttempt, d.Channel, d.URL, d.Event, d.Attempt, due, d.DueAt, d.Body,
			orNull(job.FormatParts(d.Parts)))
		if err != nil {
			return err
		}
		if d.Waits {
			continue
		}
		if err := t.copyItem(deliveryRef(d.Number, d.Owner.Number, d.URL, d.DueAt), d.Attempt); err != nil {
			return err
		}
	}
	return nil
}

// CopyEnd implements store.Copyable. The sequences are above all copied numbers
// already; CopyEnd only accounts for jobs that were deleted.
func (s *Store) CopyEnd(ctx context.Context, source string, lastJob int64) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.exec(`UPDATE transfers SET mark = NULL WHERE source = ? AND mark IS NOT NULL`, source); err != nil {
			return fmt.Errorf("marking a copy as complete: %w", err)
		}
		if t.changed() == 0 {
			return noCopy()
		}
		// The table has no key to conflict with.
		err := t.exec(`INSERT INTO sqlite_sequence (name, seq) SELECT 'jobs', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'jobs')`)
		if err == nil {
			err = t.exec(`UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'jobs'`, lastJob)
		}
		if err != nil {
			return fmt.Errorf("storing the last job number: %w", err)
		}
		t.lastJob = max(t.lastJob, lastJob)
		return nil
	})
}

// QueueClaimed implements store.Copyable.
func (s *Store) QueueClaimed(ctx context.Context) (claimed, awaiting int64, err error) {
	err = s.readAs(ctx, background, func(t *tx) error {
		return t.query(`SELECT count(*) FILTER (WHERE node <> ?1), count(*) FILTER (WHERE node = ?1) FROM runs WHERE node > 0`,
			func(stmt *sqlite.Stmt) error {
				claimed, awaiting = stmt.ColumnInt64(0), stmt.ColumnInt64(1)
				return nil
			}, store.AwaitingNode)
	})
	return claimed, awaiting, err
}

// JobLast implements store.Copyable.
func (s *Store) JobLast(ctx context.Context) (last int64, err error) {
	err = s.readAs(ctx, background, func(t *tx) error {
		return t.query(`SELECT seq FROM sqlite_sequence WHERE name = 'jobs'`, func(stmt *sqlite.Stmt) error {
			last = stmt.ColumnInt64(0)
			return nil
		})
	})
	return last, err
}

// JobPage implements store.Copyable. Numbers belong to all accounts together: where most
// are the account's, one scan reads its jobs, else each is looked up.
func (s *Store) JobPage(ctx context.Context, owner job.Owner, below int64, limit, budget int) (jobs []*job.Job, err error) {
	q := job.Query{ListQuery: job.ListQuery{Limit: limit, After: below}}
	err = s.readAs(ctx, background, func(t *tx) error {
		numbers, err := t.listNumbers(owner, q)
		switch n := len(numbers); {
		case err != nil || n == 0:
		case numbers[0]-numbers[n-1] < maxGaps*int64(n):
			jobs, err = t.jobsBetween(owner, numbers[n-1], numbers[0], budget)
		default:
			jobs, err = t.jobsNumbered(numbers, budget)
		}
		return err
	})
	return jobs, err
}

// maxGaps is how many numbers a scan passes for each job that it returns, on average: a row
// that is passed costs less than a third of a lookup.
const maxGaps = 3

// jobsBetween reads an account's jobs from the last number down to the first, up to and
// including the one that exceeds a budget of bytes.
func (t *tx) jobsBetween(owner job.Owner, first, last int64, budget int) ([]*job.Job, error) {
	var jobs []*job.Job
	size := 0
	err := t.query(selectJobs+`WHERE j.number BETWEEN ? AND ? AND +j.account = ? ORDER BY j.number DESC`, func(stmt *sqlite.Stmt) error {
		j, held, err := t.scanJob(stmt)
		if err != nil {
			return err
		}
		jobs = append(jobs, t.shown(j, held))
		if size += job.Size(j); size > budget {
			return errStop
		}
		return nil
	}, first, last, owner.Number)
	return jobs, err
}

// LogPage implements store.Copyable.
func (s *Store) LogPage(ctx context.Context, owner job.Owner, after uuid.UUID, limit int) (logs []*job.Log, err error) {
	err = s.readAs(ctx, background, func(t *tx) (err error) {
		logs, err = t.logsWhere(`l.account = ? AND l.id > ? ORDER BY l.id LIMIT ?`, owner.Number, after[:], limit)
		return err
	})
	return logs, err
}

// DeliveryPage implements store.Copyable.
func (s *Store) DeliveryPage(ctx context.Context, after int64, limit int) (deliveries []*store.PendingDelivery, err error) {
	err = s.readAs(ctx, background, func(t *tx) error {
		return t.query(`SELECT number, message, account, job, job_attempt, channel, url, event, attempt, due IS NULL, coalesce(due, begin_at), body, parts
			FROM deliveries WHERE number > ? ORDER BY number LIMIT ?`, func(stmt *sqlite.Stmt) (err error) {
			c := &columns{stmt: stmt}
			d := &store.PendingDelivery{}
			d.Number, d.MessageID = c.int64(), c.text()
			account := c.int64()
			d.Job, d.JobAttempt, d.Channel, d.URL, d.Event, d.Attempt = c.int64(), c.int(), job.Channel(c.int()), c.text(), c.text(),
				c.int()
			d.Waits, d.DueAt, d.Body = c.int() != 0, c.time(), c.json()
			if d.Parts, err = job.ParseParts(c.text()); err != nil {
				return err
			}
			d.Owner, err = t.owner(account)
			deliveries = append(deliveries, d)
			return err
		}, after, limit)
	})
	return deliveries, err
}
