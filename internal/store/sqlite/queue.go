package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// thisNode is the only node of a SQLite database.
const thisNode = 1

// NodeStart implements store.Queue. The claims of the process before can only
// be abandoned, so they are marked as nobody's.
func (s *Store) NodeStart(ctx context.Context) (int64, error) {
	err := s.write(ctx, func(t *tx) error {
		if err := t.markNode(); err != nil {
			return err
		}
		return t.exec(`UPDATE runs SET node = ? WHERE node > 0`, goneNode)
	})
	s.settled.Store(false)
	return thisNode, err
}

// NodeBeat implements store.Queue. The file's lock sees to it that there is no
// other node, so nobody needs to know that this one lives.
func (s *Store) NodeBeat(context.Context, int64) (store.Beat, error) {
	return store.Beat{Nodes: []int64{thisNode}}, nil
}

// NodeHolds implements store.Queue.
func (s *Store) NodeHolds(int64) bool { return true }

// RunHeld implements store.Queue.
func (s *Store) RunHeld(ctx context.Context, node int64, claims []store.Claim) ([]bool, error) {
	held := make([]bool, len(claims))
	err := s.readAs(ctx, engine, func(t *tx) error {
		for i, c := range claims {
			err := t.query(`SELECT 1 FROM runs WHERE due = ? AND kind = ? AND number = ? AND node = ? AND attempt = ?`, func(*sqlite.Stmt) error {
				held[i] = true
				return nil
			}, c.Due, c.Kind, c.Number, node, c.Attempt)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return held, err
}

// goneNode marks the claims of a process that has ended.
const goneNode = 2

// RunPeek implements store.Queue.
func (s *Store) RunPeek(ctx context.Context, after store.Ref, until time.Time, limit int) ([]store.Ref, error) {
	var refs []store.Ref
	err := s.readAs(ctx, engine, func(t *tx) error {
		return t.query(`SELECT due, kind, number, account, lane FROM runs WHERE (due, kind, number) > (?, ?, ?) AND node = 0 ORDER BY due, kind, number LIMIT ?`,
			func(stmt *sqlite.Stmt) error {
				ref := scanRef(&columns{stmt: stmt})
				refs = append(refs, ref)
				if !until.IsZero() && ref.Due.After(until) {
					return errEnough
				}
				return nil
			}, after.Due.UnixMicro(), after.Kind, after.Number, limit)
	})
	return refs, err
}

func scanRef(c *columns) store.Ref {
	r := store.Ref{Due: c.time()}
	r.Kind, r.Number, r.Account, r.Lane = store.Kind(c.int()), c.int64(), c.int64(), uint32(c.int64())
	return r
}

// RunLoad implements store.Queue.
func (s *Store) RunLoad(ctx context.Context, refs []store.Ref) ([]*store.Run, error) {
	runs := make([]*store.Run, len(refs))
	err := s.readAs(ctx, engine, func(t *tx) (err error) {
		for i, ref := range refs {
			if runs[i], err = t.loadRun(ref); err != nil {
				return err
			}
		}
		return nil
	})
	return runs, err
}

// loadRun reads a run with what it fires; nil when it is not in the queue.
func (t *tx) loadRun(ref store.Ref) (*store.Run, error) {
	if ref.Kind == store.KindDelivery {
		return t.loadDelivery(ref)
	}
	m, err := t.moment(`j.number = ?`, ref.Number)
	if err != nil || m.Job == nil || m.Job.State.Final() || !m.Job.DueAt.Equal(ref.Due) {
		return nil, err
	}
	run := &store.Run{Ref: ref, Attempt: m.Job.Attempt, Job: m.Job, Claim: m.Claim}
	if m.Job.ScheduleID != uuid.Nil {
		run.Schedule, err = t.schedule(m.Job.ScheduleID)
	}
	return run, err
}

// RunClaim implements store.Queue.
func (s *Store) RunClaim(ctx context.Context, node int64, claims []store.Claim) ([]bool, error) {
	got := make([]bool, len(claims))
	size := 0
	for i := range claims {
		size += claims[i].Size()
	}
	err := s.writeSized(ctx, size, func(t *tx) (err error) {
		for i := range claims {
			if got[i], err = t.claim(node, &claims[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return got, err
}

func (t *tx) claim(node int64, c *store.Claim) (bool, error) {
	var logID any
	if c.Log != nil {
		logID = c.Log.ID
	}
	err := t.exec(`UPDATE runs SET node = ?, attempt = ?, begin_at = ?, log = ? WHERE due = ? AND kind = ? AND number = ? AND node = 0 AND attempt = ?`,
		node, c.Attempt, c.BeginAt, logID, c.Due, c.Kind, c.Number, c.Attempt-1)
	if err != nil {
		return false, fmt.Errorf("claiming a run: %w", err)
	}
	if t.changed() == 0 {
		return false, nil
	}
	if c.Log != nil {
		if err := t.insertLog(c.Log); err != nil {
			return false, err
		}
	}
	return true, t.insertDeliveries(c.Deliveries)
}

// RunFinish implements store.Queue.
func (s *Store) RunFinish(ctx context.Context, runs []store.Finish) ([]bool, error) {
	held := make([]bool, len(runs))
	size := 0
	for i := range runs {
		size += runs[i].Size
	}
	err := s.writeSized(ctx, size, func(t *tx) (err error) {
		for i := range runs {
			if held[i], err = t.finish(&runs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return held, err
}

func (t *tx) finish(f *store.Finish) (bool, error) {
	err := t.exec(`DELETE FROM runs WHERE due = ? AND kind = ? AND number = ? AND node = ? AND attempt = ?`,
		f.Due, f.Kind, f.Number, f.Node, f.Attempt)
	if err != nil {
		return false, fmt.Errorf("finishing a run: %w", err)
	}
	if t.changed() == 0 {
		return false, nil
	}
	if f.Kind == store.KindDelivery {
		return true, t.endDelivery(f)
	}
	m := &store.Moment{Now: t.now, Job: f.Job}
	if f.Job.ScheduleID != uuid.Nil {
		if m.Schedule, err = t.schedule(f.Job.ScheduleID); err != nil {
			return false, err
		}
	}
	changes := f.Decide(m)
	if changes == nil {
		return false, fmt.Errorf("finishing job %d: no decision was made", f.Number)
	}
	return true, t.apply(changes, &f.Ref)
}

// RunRelease implements store.Queue.
func (s *Store) RunRelease(ctx context.Context, node int64, claims []store.Claim) error {
	return s.write(ctx, func(t *tx) error {
		for i := range claims {
			if err := t.release(node, &claims[i]); err != nil {
				return fmt.Errorf("giving back a run: %w", err)
			}
		}
		return nil
	})
}

// release gives back a claim, if it is still held: what another one has
// prepared meanwhile is not this one's to take back.
func (t *tx) release(node int64, c *store.Claim) error {
	var held *store.Held
	err := t.query(`SELECT begin_at FROM runs WHERE due = ? AND kind = ? AND number = ? AND node = ? AND attempt = ?`, func(stmt *sqlite.Stmt) error {
		held = &store.Held{Node: node, Attempt: c.Attempt, BeginAt: (&columns{stmt: stmt}).time()}
		return nil
	}, c.Due, c.Kind, c.Number, node, c.Attempt)
	if err != nil || held == nil {
		return err
	}
	if c.Kind == store.KindJob {
		if err := t.takeBack(c.Ref, held); err != nil {
			return err
		}
	}
	return t.exec(`UPDATE runs SET node = 0, attempt = attempt - 1, begin_at = NULL, log = NULL
		WHERE due = ? AND kind = ? AND number = ?`, c.Due, c.Kind, c.Number)
}

// RunAbandoned implements store.Queue.
func (s *Store) RunAbandoned(ctx context.Context, limit int) ([]store.Abandoned, error) {
	if s.settled.Load() {
		return nil, nil
	}
	var found []store.Abandoned
	err := s.readAs(ctx, engine, func(t *tx) error {
		return t.query(`SELECT due, kind, number, account, lane, node, attempt FROM runs INDEXED BY runs_claimed WHERE node = ? AND node > 0 LIMIT ?`,
			func(stmt *sqlite.Stmt) error {
				c := &columns{stmt: stmt}
				found = append(found, store.Abandoned{Ref: scanRef(c), Node: c.int64(), Attempt: c.int()})
				return nil
			}, goneNode, limit)
	})
	if err != nil {
		return nil, err
	}
	// Only a start abandons claims here.
	s.settled.Store(len(found) == 0)
	return found, nil
}

// RunCounts implements store.Queue.
func (s *Store) RunCounts(ctx context.Context) (map[store.Kind]int64, error) {
	counts := map[store.Kind]int64{}
	err := s.readAs(ctx, background, func(t *tx) error {
		return t.query(`SELECT kind, count(*) FROM runs WHERE due <= ? AND node = 0 GROUP BY kind`, func(stmt *sqlite.Stmt) error {
			counts[store.Kind(stmt.ColumnInt(0))] = stmt.ColumnInt64(1)
			return nil
		}, t.now)
	})
	return counts, err
}

func deliveryRef(number, account int64, url string, due time.Time) store.Ref {
	return store.Ref{RunID: store.RunID{Kind: store.KindDelivery, Number: number}, Due: due, Account: account, Lane: job.Lane(url)}
}

func (t *tx) loadDelivery(ref store.Ref) (*store.Run, error) {
	var run *store.Run
	err := t.query(`SELECT d.message, d.job, d.job_attempt, d.channel, d.url, d.event, d.attempt, d.due, d.body, d.parts,
			coalesce((SELECT j.hops FROM jobs j WHERE j.number = d.job), 0), r.attempt, r.node, r.begin_at
		FROM deliveries d JOIN runs r ON r.due = d.due AND r.kind = 1 AND r.number = d.number
		WHERE d.number = ? AND d.due = ?`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		d := &job.Delivery{Number: ref.Number, MessageID: c.text(), Job: c.int64(), JobAttempt: c.int()}
		d.Channel, d.URL, d.Event, d.Attempt, d.DueAt, d.Body = job.Channel(c.int()), c.text(), c.text(), c.int(), c.time(), c.json()
		d.Parts, d.Hops = job.KeptParts(c.text()), c.int()
		run = &store.Run{Ref: ref, Delivery: d, Attempt: c.int()}
		if node := c.int64(); node > 0 {
			run.Claim = &store.Held{Node: node, Attempt: run.Attempt, BeginAt: c.time()}
		}
		var err error
		d.Owner, err = t.owner(ref.Account)
		return err
	}, ref.Number, ref.Due)
	return run, err
}

// endDelivery writes down what a try came to; after a first try of an event
// the job's next event gets its turn.
func (t *tx) endDelivery(f *store.Finish) error {
	end := f.Delivery
	if end.Log != nil {
		if err := t.insertLog(end.Log); err != nil {
			return err
		}
	}
	var jobNumber int64
	var channel job.Channel
	tried := 0
	err := t.query(`SELECT job, channel, attempt FROM deliveries WHERE number = ?`, func(stmt *sqlite.Stmt) error {
		jobNumber, channel, tried = stmt.ColumnInt64(0), job.Channel(stmt.ColumnInt(1)), stmt.ColumnInt(2)
		return nil
	}, f.Number)
	if err != nil {
		return err
	}
	if end.Again.IsZero() {
		err = t.exec(`DELETE FROM deliveries WHERE number = ?`, f.Number)
	} else {
		err = t.exec(`UPDATE deliveries SET attempt = ?, due = ? WHERE number = ?`, end.Attempt, end.Again, f.Number)
	}
	if err != nil {
		return fmt.Errorf("ending a delivery: %w", err)
	}
	if !end.Again.IsZero() {
		ref := f.Ref
		ref.Due = end.Again
		if err := t.insertRun(ref, end.Attempt); err != nil {
			return err
		}
	}
	if channel == job.Webhook && tried == 0 && (end.Again.IsZero() || end.Attempt > 0) {
		return t.releaseNext(jobNumber)
	}
	return nil
}

// releaseNext gives the earliest event of a job that waits for its turn a run.
func (t *tx) releaseNext(jobNumber int64) error {
	var next *store.Ref
	err := t.query(`SELECT number, account, url, max(begin_at, ?) FROM deliveries
		WHERE job = ? AND channel = ? AND attempt = 0 AND due IS NULL ORDER BY number LIMIT 1`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		ref := deliveryRef(c.int64(), c.int64(), c.text(), c.time())
		next = &ref
		return nil
	}, t.now, jobNumber, job.Webhook)
	if err != nil || next == nil {
		return err
	}
	if err := t.exec(`UPDATE deliveries SET due = ? WHERE number = ?`, next.Due, next.Number); err != nil {
		return fmt.Errorf("releasing a delivery: %w", err)
	}
	return t.insertRun(*next, 0)
}
