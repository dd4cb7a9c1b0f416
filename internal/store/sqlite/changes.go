package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// decide calls a decision about an account's record and applies its changes.
func (t *tx) decide(account int64, m *store.Snapshot, decide store.Decide) error {
	c := decide(m)
	if err := t.goneFrom(account, c); err != nil {
		return err
	}
	return t.applyTo(m, c)
}

// applyTo applies changes that were decided for a Snapshot; nil changes nothing.
func (t *tx) applyTo(m *store.Snapshot, c *store.Changes) error {
	if c == nil {
		return nil
	}
	var item *store.QueueKey
	if m.Job != nil {
		item = &store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: m.Job.Number}, Due: m.Job.DueAt,
			Account: m.Job.Owner.Number}
	}
	if c.RollbackClaim && m.Claim != nil {
		if err := t.rollbackClaim(*item, m.Claim); err != nil {
			return err
		}
	}
	if c.Job != nil {
		if err := t.removeItem(item); err != nil {
			return err
		}
		if c.Lane != nil {
			item.Lane = *c.Lane
		}
	}
	return t.apply(c, item)
}

// removeItem deletes a job's queue item and sets its lane in item, for the item
// that may replace it.
func (t *tx) removeItem(item *store.QueueKey) error {
	err := t.query(`DELETE FROM runs WHERE due = ? AND kind = 0 AND number = ? RETURNING lane`, func(stmt *sqlite.Stmt) error {
		item.Lane = uint32(stmt.ColumnInt64(0))
		return nil
	}, item.Due, item.Number)
	if err != nil {
		return fmt.Errorf("deleting a queue item: %w", err)
	}
	return t.deleteLimited(item.Account, item.Number)
}

// apply stores changes. The queue item of a changed job must have been deleted.
func (t *tx) apply(c *store.Changes, item *store.QueueKey) error {
	if c.Job != nil {
		if err := t.updateJob(c, *item); err != nil {
			return err
		}
	}
	if c.UpdateDefinition {
		if err := t.updateDefinition(c); err != nil {
			return err
		}
	}
	for i := range c.Revisions {
		if err := t.insertRevision(&c.Revisions[i]); err != nil {
			return err
		}
	}
	for i := range c.Logs {
		if err := t.insertLog(&c.Logs[i]); err != nil {
			return err
		}
	}
	if err := t.insertDeliveries(c.Deliveries); err != nil {
		return err
	}
	if err := t.applyCompletions(c); err != nil {
		return err
	}
	if err := t.insertOutcomes(c.Outcomes); err != nil {
		return err
	}
	switch {
	case c.DropSchedule:
		if _, err := t.deleteTagged(scheduleTags, c.Schedule.ID, `DELETE FROM schedules WHERE id = ?`, c.Schedule.ID); err != nil {
			return fmt.Errorf("deleting a schedule: %w", err)
		}
		if err := t.deleteRevisions(c.Schedule.Owner.Number, c.Schedule.ID); err != nil {
			return err
		}
		err := t.exec(`DELETE FROM schedule_months WHERE account = ? AND schedule = ?`, c.Schedule.Owner.Number, c.Schedule.ID)
		if err != nil {
			return fmt.Errorf("deleting the monthly counts of a schedule: %w", err)
		}
		t.count(c.Schedule.Owner.Number, 0, -1)
	case c.Schedule != nil:
		if err := t.updateSchedule(c.Schedule); err != nil {
			return err
		}
	}
	if c.Next != nil {
		args := storeArgs(c.Next.Job)
		if err := t.insertJob(*c.Next, &args); err != nil {
			return err
		}
	}
	for _, n := range c.Also {
		args := storeArgs(n.Job)
		if err := t.insertJob(n, &args); err != nil {
			return err
		}
	}
	return nil
}

// updateJob stores the job's new state and times, and the resulting queue item.
func (t *tx) updateJob(c *store.Changes, item store.QueueKey) error {
	j := c.Job
	var keys []string
	if !j.State.Final() && !c.Await {
		keys = store.Hold(j)
	}
	awaited, err := t.updateState(j)
	if err != nil {
		return fmt.Errorf("updating a job: %w", err)
	}
	if j.State.Final() {
		if awaited {
			if err := t.noteEnd(j); err != nil {
				return fmt.Errorf("storing the end of a job: %w", err)
			}
		}
		if err := t.endRun(c); err != nil {
			return fmt.Errorf("noting the end of a job with its workflow run: %w", err)
		}
		t.count(j.Owner.Number, -oneOffs(j), 0) // final jobs don't change, so it was pending
		if job.MayUseSecrets(j) {
			if err := t.removeSecretUses(j); err != nil {
				return err
			}
		}
		return t.releaseFollower(j)
	}
	if j.Follows != 0 {
		if err := t.exec(`UPDATE jobs SET lane = ? WHERE number = ? AND ? > 0`, item.Lane, j.Number, item.Lane); err != nil {
			return fmt.Errorf("updating the lane of a job: %w", err)
		}
		return t.limitJob(j, keys)
	}
	item.Due, item.Revision = j.DueAt, j.Revision
	if c.Await {
		return t.await(j, item, c.Completion)
	}
	if err := t.limitJob(j, keys); err != nil {
		return err
	}
	return t.insertItem(item, j.Attempt)
}

// updateState stores the job's new state and times, and reports whether others wait for
// its end, if it has ended. RETURNING would have SQLite copy each page before it changes.
func (t *tx) updateState(j *job.Job) (awaited bool, err error) {
	const update = `UPDATE jobs SET state = ?, due_at = ?, attempted_at = ?, completed_at = ?, cancelled_at = ?, discarded_at = ?, room = ? WHERE number = ?`
	args := []any{j.State, j.DueAt, j.AttemptedAt, j.CompletedAt, j.CancelledAt, j.DiscardedAt, reservedFor(j), j.Number}
	if !j.State.Final() {
		return false, t.exec(update, args...)
	}
	if err := t.exec(update+` AND awaited IS NULL`, args...); err != nil || t.changed() > 0 {
		return false, err
	}
	err = t.exec(update, args...)
	return t.changed() > 0, err
}

// updateDefinition stores the fields that seldom change.
func (t *tx) updateDefinition(c *store.Changes) error {
	if j := c.Job; j != nil {
		host, tags := labels(j.Args)
		text := pack(job.JoinArgs(j.Args, &j.Hidden))
		if err := t.retag(jobTags, j.Number, tags); err != nil {
			return err
		}
		err := t.exec(`UPDATE jobs SET scheduled_at = ?, name = ?, description = ?, args = ?, packed = ?, size = ?, host = ?, tags = ?, revision = ? WHERE number = ?`,
			instant(j.ScheduledAt), j.Name, j.Description, text.plain, text.packed, text.size, host, tags, j.Revision, j.Number)
		if err != nil {
			return fmt.Errorf("updating the definition of a job: %w", err)
		}
		if err := t.removeSecretUses(j); err != nil {
			return err
		}
		if err := t.addSecretUses(j, job.SecretNames(j)); err != nil {
			return err
		}
	}
	if s := c.Schedule; s != nil {
		_, tags := labels(s.Args)
		if err := t.retag(scheduleTags, s.ID, tags); err != nil {
			return err
		}
		err := t.exec(`UPDATE schedules SET first_due = ?, name = ?, description = ?, args = ?, tags = ?, revision = ?, document = ? WHERE id = ?`,
			instant(s.FirstDue), s.Name, s.Description, job.JoinArgs(s.Args, &s.Hidden), tags, s.Revision, s.Document, s.ID)
		if err != nil {
			return fmt.Errorf("updating the definition of a schedule: %w", err)
		}
	}
	return nil
}

// rollbackClaim deletes what a claim stored for an attempt that did not start. It
// keeps the deliveries of an interrupted attempt with the same number, which are
// older than this claim.
func (t *tx) rollbackClaim(item store.QueueKey, claim *store.ClaimInfo) error {
	err := t.exec(`DELETE FROM logs WHERE seq IN (SELECT l.seq FROM logs l, runs r
		WHERE r.due = ? AND r.kind = 0 AND r.number = ? AND l.job = r.number AND l.id = r.log)`, item.Due, item.Number)
	if err != nil {
		return fmt.Errorf("deleting the request log of a claim: %w", err)
	}
	err = t.exec(`DELETE FROM completions WHERE account = ? AND job = ? AND attempt = ? AND state = ?`,
		item.Account, item.Number, claim.Attempt, int(job.CompletionSent))
	if err != nil {
		return fmt.Errorf("deleting the completion of a claim: %w", err)
	}
	const prepared = ` FROM deliveries WHERE job = ? AND job_attempt = ? AND attempt = 0 AND begin_at >= ?`
	err = t.exec(`DELETE FROM runs WHERE (due, kind, number) IN (SELECT due, 1, number`+prepared+` AND due IS NOT NULL)`,
		item.Number, claim.Attempt, claim.StartAt)
	if err != nil {
		return fmt.Errorf("deleting the queue items of a claim's deliveries: %w", err)
	}
	if err := t.exec(`DELETE`+prepared, item.Number, claim.Attempt, claim.StartAt); err != nil {
		return fmt.Errorf("deleting the deliveries of a claim: %w", err)
	}
	return nil
}

// insertDeliveries stores deliveries. An event waits, without a queue item,
// until the one before it has been attempted.
func (t *tx) insertDeliveries(deliveries []job.Delivery) error {
	for i := range deliveries {
		d := &deliveries[i]
		var due any = d.DueAt
		if d.Channel == job.Webhook {
			err := t.query(`SELECT 1 FROM deliveries WHERE job = ? AND channel = ? AND attempt = 0 LIMIT 1`, func(*sqlite.Stmt) error {
				due = nil
				return nil
			}, d.Job, job.Webhook)
			if err != nil {
				return err
			}
		}
		err := t.exec(`INSERT INTO deliveries (message, account, job, job_attempt, channel, url, event, attempt, due, begin_at, body, parts)
			VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)`,
			d.MessageID, d.Owner.Number, d.Job, d.JobAttempt, d.Channel, d.URL, d.Event, due, d.DueAt, d.Body,
			orNull(job.FormatParts(d.Parts)))
		if err != nil {
			return fmt.Errorf("inserting a delivery: %w", err)
		}
		d.Number = t.conn.LastInsertRowID()
		if due == nil {
			continue
		}
		if err := t.insertItem(deliveryRef(d.Number, d.Owner.Number, d.URL, d.DueAt), 0); err != nil {
			return err
		}
	}
	return nil
}
