package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// OperationApply implements store.Operations.
func (s *Store) OperationApply(ctx context.Context, step store.OperationStep) (*job.Operation, error) {
	var saved []*job.Operation
	err := s.write(ctx, func(t *tx) error {
		step.Begin()
		saved = nil
		a := &application{step: step, owner: step.Operation.Owner, changes: map[int64]*change{}, schedules: map[scheduleKey]*job.Schedule{},
			rerun: map[int64]bool{}}
		var held []*job.Operation
		if err := t.run(append(ofRecords(records.HoldOperation(step.Operation, step.Lease, &held)), a.locks()...)...); err != nil {
			return err
		}
		if len(held) == 0 {
			return t.commit()
		}
		a.operation = held[0]
		if err := a.decide(t); err != nil {
			return err
		}
		o := a.operation
		queries := append(a.writes.queries(t), a.allowances...)
		queries = append(queries, query{sql: `DELETE FROM operation_jobs WHERE operation = $1 AND last <= $2`,
			args: []any{o.ID, o.Position}})
		return t.commit(append(queries, ofRecords(records.SaveOperation(o, t.now, &saved))...)...)
	})
	return records.SavedOperation(saved, err)
}

// application changes the jobs of one step of an operation.
type application struct {
	step       store.OperationStep
	owner      job.Owner
	operation  *job.Operation // as locked
	changes    map[int64]*change
	schedules  map[scheduleKey]*job.Schedule
	writes     writes
	rerun      map[int64]bool // jobs that have a rerun
	allowances []query        // store the remaining allowance of the account
}

// locks returns the queries that lock the schedules of the jobs, their queue items
// and the jobs, each kind in the order in which QueueFinish locks it, and read which
// of the jobs have a rerun.
func (a *application) locks() []query {
	args := []any{a.owner.Number, a.step.Numbers}
	return []query{
		lockSchedules(`(s.account, s.id) IN (SELECT j.account, j.schedule_id FROM `+listedJobs+` OFFSET 0)`, args, a.readSchedule),
		{
			sql: `SELECT r.due, r.number, r.lane, r.attempt, r.node, r.begin_at, r.log
				FROM (SELECT j.due_at, j.number, j.account FROM ` + listedJobs + ` WHERE j.state <= 2 OFFSET 0) j
				JOIN runs r ON r.due = j.due_at AND r.kind = 0 AND r.number = j.number AND r.account = j.account ORDER BY r.due, r.kind, r.number FOR UPDATE OF r`,
			args: args, row: a.readItem,
		},
		{
			sql:  `SELECT ` + jobColumns + `, ` + noRun + ` FROM ` + listedJobs + ` ORDER BY j.number FOR NO KEY UPDATE OF j`,
			args: args, row: a.readJob,
		},
		{
			sql:  `SELECT DISTINCT j.rerun_of FROM ` + listOf(`bigint`) + ` JOIN jobs j ON j.account = i.account AND j.rerun_of = i.key`,
			args: args,
			row: func(rows pgx.Rows) error {
				var number int64
				err := rows.Scan(&number)
				a.rerun[number] = true
				return err
			},
		},
	}
}

func (a *application) readSchedule(rows pgx.Rows) error {
	s := &job.Schedule{}
	err := rows.Scan(scheduleTargets(s)...)
	s.Owner = a.owner
	a.schedules[scheduleKey{a.owner.Number, s.ID}] = s
	return err
}

// of returns what is known of a job.
func (a *application) of(number int64) *change {
	c := a.changes[number]
	if c == nil {
		c = &change{snapshot: &store.Snapshot{}, owner: a.owner}
		a.changes[number] = c
	}
	return c
}

func (a *application) readItem(rows pgx.Rows) error {
	var c change
	c.owner = a.owner
	if err := c.readItem(rows); err != nil {
		return err
	}
	known := a.of(c.item.Number)
	known.item, known.held, known.log = c.item, c.held, c.log
	return nil
}

func (a *application) readJob(rows pgx.Rows) error {
	c := change{snapshot: &store.Snapshot{}, owner: a.owner}
	if err := c.readJob(rows); err != nil {
		return err
	}
	known := a.of(c.snapshot.Job.Number)
	known.setJob(c.snapshot.Job)
	known.snapshot.Schedule = a.schedules[scheduleKey{a.owner.Number, c.snapshot.Job.ScheduleID}]
	return nil
}

// decide calls the decision for each job, in order, after the rows are locked, and
// counts the outcomes.
func (a *application) decide(t *tx) error {
	now := t.store.Now()
	created := &creation{over: map[int]store.Quota{}}
	type decision struct {
		number  int64
		change  *change
		changes *store.Changes
		reason  job.Skip
		created int // in created; -1 if the change is none that creates only a job
	}
	var decisions []decision
	for i, number := range a.step.Numbers {
		if number <= a.operation.Position {
			continue
		}
		d := decision{number: number, change: a.changes[number], reason: job.SkipRemoved, created: -1}
		if d.change != nil && d.change.snapshot.Job != nil {
			if d.change.moved() {
				return errRetry
			}
			d.change.snapshot.Now = now
			d.changes, d.reason = a.step.Decide(i, d.change.snapshot)
			creates := d.reason == "" && d.changes != nil && d.changes.Job == nil && d.changes.Next != nil
			if creates && a.rerun[d.changes.Next.Job.RerunOf] {
				d.reason = job.SkipHasRerun
			} else if creates {
				d.created = len(created.jobs)
				created.jobs, created.open = append(created.jobs, *d.changes.Next), append(created.open, d.created)
			}
		}
		decisions = append(decisions, d)
	}
	if len(created.jobs) > 0 {
		var err error
		if created.gone, err = created.missing(t, false); err != nil {
			return err
		}
		if _, err = created.admit(t, created.present()); err != nil {
			return err
		}
		a.allowances = created.save()
	}
	for _, d := range decisions {
		a.operation.Position = d.number
		if d.reason == "" && created.over[d.created] != store.QuotaNone {
			d.reason = job.SkipOverLimit
		} else if d.reason == "" && created.gone[d.created] {
			d.reason = job.SkipInvalid
		}
		if d.reason != "" {
			a.operation.Skip(d.reason)
			continue
		}
		a.operation.Done++
		if d.changes != nil {
			d.change.collect(t, &a.writes, d.changes)
		}
	}
	return nil
}

// JobNumbers implements store.JobSearch.
func (s *Store) JobNumbers(ctx context.Context, owner job.Owner, q job.Query, look int) ([]int64, int64, error) {
	if err := q.Unordered(); err != nil {
		return nil, 0, err
	}
	found, err := s.matching(ctx, owner, q, look)
	return found.numbers, found.next, err
}

// JobErrorKinds implements store.JobSearch. It reads the log of each job's latest
// ended attempt by the index of a job's logs.
func (s *Store) JobErrorKinds(ctx context.Context, owner job.Owner, numbers []int64) (kinds map[int64]string, err error) {
	err = s.readAs(ctx, heavy, query{
		sql: `SELECT j.number, l.event, ` + cutText(`l`, `$3`, ``) + ` FROM ` + listedJobs + `
			CROSS JOIN LATERAL (SELECT k.event, k.payload, k.packed, k.size FROM logs k
				WHERE k.account = j.account AND k.job = j.number AND k.event IN (2, 3) ORDER BY k.id DESC LIMIT 1) l
			WHERE j.state <> 4`,
		args: []any{owner.Number, numbers, job.FailurePrefix}, start: func() { kinds = map[int64]string{} },
		row: func(rows pgx.Rows) error {
			var number int64
			var event int
			var text cutOf
			err := rows.Scan(append([]any{&number, &event}, text.targets()...)...)
			head, _ := text.text(job.FailurePrefix, 0)
			kinds[number] = job.FailureKind(events[event], []byte(head))
			return err
		},
	})
	return kinds, err
}
