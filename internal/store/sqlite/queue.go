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

// NodeStart implements store.Queue. It marks all claims as abandoned, and releases
// operations: they are left over from an earlier process.
func (s *Store) NodeStart(ctx context.Context) (int64, error) {
	err := s.write(ctx, func(t *tx) error {
		if err := t.markNode(); err != nil {
			return err
		}
		if err := t.exec(`UPDATE operations SET holder = NULL WHERE state = 0`); err != nil {
			return err
		}
		return t.exec(`UPDATE runs SET node = ? WHERE node > 0 AND node <> ?`, goneNode, store.AwaitingNode)
	})
	s.settled.Store(false)
	return thisNode, err
}

// NodeHeartbeat implements store.Queue. It does nothing: the file lock ensures
// that this is the only node.
func (s *Store) NodeHeartbeat(context.Context, int64) (store.Heartbeat, error) {
	return store.Heartbeat{Nodes: []int64{thisNode}}, nil
}

// NodeHoldsLease implements store.Queue.
func (s *Store) NodeHoldsLease(int64) bool { return true }

// QueueHeld implements store.Queue.
func (s *Store) QueueHeld(ctx context.Context, node int64, claims []store.Claim) ([]store.ClaimStatus, error) {
	held := make([]store.ClaimStatus, len(claims))
	err := s.readAs(ctx, engine, func(t *tx) error {
		for i, c := range claims {
			err := t.query(`SELECT 1 FROM runs WHERE due = ? AND kind = ? AND number = ? AND node = ? AND attempt = ?`,
				func(*sqlite.Stmt) error {
					held[i] = store.Held
					return nil
				}, c.Due, c.Kind, c.Number, node, c.Attempt)
			if err != nil {
				return err
			}
			if held[i] == store.NotHeld || c.Schedule.ID == uuid.Nil {
				continue
			}
			held[i] = store.HeldOutdated
			err = t.query(`SELECT 1 FROM schedules WHERE id = ? AND account = ? AND revision = ? AND epoch = ?`, func(*sqlite.Stmt) error {
				held[i] = store.Held
				return nil
			}, c.Schedule.ID, c.Account, c.Schedule.Revision, c.Schedule.Epoch)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return held, err
}

// goneNode is the node of claims whose process has ended.
const goneNode = 2

// QueuePeek implements store.Queue.
func (s *Store) QueuePeek(ctx context.Context, after store.QueueKey, until time.Time, limit int) ([]store.QueueKey, error) {
	var refs []store.QueueKey
	err := s.readAs(ctx, engine, func(t *tx) error {
		return t.query(`SELECT due, kind, number, account, lane, revision FROM runs WHERE (due, kind, number) > (?, ?, ?) AND node = 0 ORDER BY due, kind, number LIMIT ?`,
			func(stmt *sqlite.Stmt) error {
				c := &columns{stmt: stmt}
				ref := scanRef(c)
				ref.Revision = c.int64()
				refs = append(refs, ref)
				if !until.IsZero() && ref.Due.After(until) {
					return errStop
				}
				return nil
			}, after.Due.UnixMicro(), after.Kind, after.Number, limit)
	})
	return refs, err
}

func scanRef(c *columns) store.QueueKey {
	r := store.QueueKey{Due: c.time()}
	r.Kind, r.Number, r.Account, r.Lane = store.Kind(c.int()), c.int64(), c.int64(), uint32(c.int64())
	return r
}

// QueueLoad implements store.Queue.
func (s *Store) QueueLoad(ctx context.Context, refs []store.QueueKey) ([]*store.QueueItem, error) {
	items := make([]*store.QueueItem, len(refs))
	err := s.readAs(ctx, engine, func(t *tx) (err error) {
		for i, ref := range refs {
			if items[i], err = t.loadItem(ref); err != nil {
				return err
			}
		}
		return nil
	})
	return items, err
}

// loadItem reads a queue item with its job or delivery; nil if it is not in the
// queue.
func (t *tx) loadItem(ref store.QueueKey) (*store.QueueItem, error) {
	if ref.Kind == store.KindDelivery {
		return t.loadDelivery(ref)
	}
	m, err := t.snapshot(`j.number = ?`, ref.Number)
	if err != nil || m.Job == nil || m.Job.State.Final() || !m.Job.DueAt.Equal(ref.Due) {
		return nil, err
	}
	item := &store.QueueItem{QueueKey: ref, Attempt: m.Job.Attempt, Job: m.Job, Claim: m.Claim}
	if m.Job.ScheduleID != uuid.Nil {
		if item.Schedule, err = t.schedule(m.Job.ScheduleID); err != nil {
			return nil, err
		}
	}
	return item, t.readNeeds(item)
}

// QueueClaim implements store.Queue.
func (s *Store) QueueClaim(ctx context.Context, node int64, claims []store.Claim) ([]bool, error) {
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
	err := t.exec(`UPDATE runs SET node = ?, attempt = ?, begin_at = ?, log = ? WHERE due = ? AND kind = ? AND number = ? AND node = 0 AND attempt = ? AND (kind <> 0 OR revision = ?)`,
		node, c.Attempt, c.StartAt, logID, c.Due, c.Kind, c.Number, c.Attempt-1, c.Revision)
	if err != nil {
		return false, fmt.Errorf("claiming a queue item: %w", err)
	}
	if t.changed() == 0 {
		return false, nil
	}
	if c.Log != nil {
		if err := t.insertLog(c.Log); err != nil {
			return false, err
		}
	}
	if c.Completion != nil {
		if err := t.insertCompletion(c.Completion); err != nil {
			return false, err
		}
	}
	return true, t.insertDeliveries(c.Deliveries)
}

// QueueFinish implements store.Queue.
func (s *Store) QueueFinish(ctx context.Context, finishes []store.Finish) ([]bool, error) {
	held := make([]bool, len(finishes))
	size := 0
	for i := range finishes {
		size += finishes[i].Size
	}
	err := s.writeSized(ctx, size, func(t *tx) (err error) {
		for i := range finishes {
			if held[i], err = t.finish(&finishes[i]); err != nil {
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
		return false, fmt.Errorf("finishing a queue item: %w", err)
	}
	if t.changed() == 0 {
		return false, nil
	}
	if f.Kind == store.KindDelivery {
		return true, t.endDelivery(f)
	}
	if err := t.deleteLimited(f.Account, f.Number); err != nil {
		return false, err
	}
	m := &store.Snapshot{Now: t.now, Job: f.Job}
	if f.Job.ScheduleID != uuid.Nil {
		if m.Schedule, err = t.schedule(f.Job.ScheduleID); err != nil {
			return false, err
		}
	}
	if f.Completable {
		m.Completion, err = t.completion(`account = ? AND job = ? AND attempt = ? AND state = ?`,
			f.Account, f.Number, f.Attempt, int(job.CompletionSent))
		if err != nil {
			return false, err
		}
	}
	changes := f.Decide(m)
	if changes != nil && changes.Lane != nil {
		f.Lane = *changes.Lane
	}
	if changes == nil {
		return false, fmt.Errorf("finishing job %d: no decision was made", f.Number)
	}
	if changes.Job == nil { // it only leaves the queue
		if err := t.releaseFollower(f.Job); err != nil {
			return false, err
		}
	}
	return true, t.apply(changes, &f.QueueKey)
}

// QueueRelease implements store.Queue.
func (s *Store) QueueRelease(ctx context.Context, node int64, claims []store.Claim) error {
	return s.write(ctx, func(t *tx) error {
		for i := range claims {
			if err := t.release(node, &claims[i]); err != nil {
				return fmt.Errorf("releasing a queue item: %w", err)
			}
		}
		return nil
	})
}

// release undoes a claim if the node still holds it, so that it can't delete
// what a later claim has stored.
func (t *tx) release(node int64, c *store.Claim) error {
	var held *store.ClaimInfo
	err := t.query(`SELECT begin_at FROM runs WHERE due = ? AND kind = ? AND number = ? AND node = ? AND attempt = ?`,
		func(stmt *sqlite.Stmt) error {
			held = &store.ClaimInfo{Node: node, Attempt: c.Attempt, StartAt: (&columns{stmt: stmt}).time()}
			return nil
		}, c.Due, c.Kind, c.Number, node, c.Attempt)
	if err != nil || held == nil {
		return err
	}
	if c.Kind == store.KindJob {
		if err := t.rollbackClaim(c.QueueKey, held); err != nil {
			return err
		}
	}
	return t.exec(`UPDATE runs SET node = 0, attempt = attempt - 1, begin_at = NULL, log = NULL
		WHERE due = ? AND kind = ? AND number = ?`, c.Due, c.Kind, c.Number)
}

// QueueAbandoned implements store.Queue.
func (s *Store) QueueAbandoned(ctx context.Context, limit int) ([]store.Abandoned, error) {
	if s.settled.Load() {
		return nil, nil
	}
	var found []store.Abandoned
	err := s.readAs(ctx, engine, func(t *tx) error {
		return t.query(`SELECT due, kind, number, account, lane, node, attempt FROM runs INDEXED BY runs_claimed WHERE node = ? AND node > 0 LIMIT ?`,
			func(stmt *sqlite.Stmt) error {
				c := &columns{stmt: stmt}
				found = append(found, store.Abandoned{QueueKey: scanRef(c), Node: c.int64(), Attempt: c.int()})
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

// QueueCounts implements store.Queue.
func (s *Store) QueueCounts(ctx context.Context) (map[store.Kind]int64, error) {
	counts := map[store.Kind]int64{}
	err := s.readAs(ctx, background, func(t *tx) error {
		return t.query(`SELECT kind, count(*) FROM runs WHERE due <= ? AND node = 0 GROUP BY kind`, func(stmt *sqlite.Stmt) error {
			counts[store.Kind(stmt.ColumnInt(0))] = stmt.ColumnInt64(1)
			return nil
		}, t.now)
	})
	return counts, err
}

func deliveryRef(number, account int64, url string, due time.Time) store.QueueKey {
	return store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery, Number: number}, Due: due, Account: account, Lane: job.Lane(url)}
}

func (t *tx) loadDelivery(ref store.QueueKey) (*store.QueueItem, error) {
	var item *store.QueueItem
	err := t.query(`SELECT d.message, d.job, d.job_attempt, d.channel, d.url, d.event, d.attempt, d.due, d.body, d.parts,
			coalesce(j.hops, 0), j.trace, r.attempt, r.node, r.begin_at
		FROM deliveries d JOIN runs r ON r.due = d.due AND r.kind = 1 AND r.number = d.number LEFT JOIN jobs j ON j.number = d.job
		WHERE d.number = ? AND d.due = ?`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		d := &job.Delivery{Number: ref.Number, MessageID: c.text(), Job: c.int64(), JobAttempt: c.int()}
		d.Channel, d.URL, d.Event, d.Attempt, d.DueAt, d.Body = job.Channel(c.int()), c.text(), c.text(), c.int(), c.time(), c.json()
		d.Parts, d.Hops, d.Trace = job.KeptParts(c.text()), c.int(), c.blob()
		item = &store.QueueItem{QueueKey: ref, Delivery: d, Attempt: c.int()}
		if node := c.int64(); node > 0 {
			item.Claim = &store.ClaimInfo{Node: node, Attempt: item.Attempt, StartAt: c.time()}
		}
		var err error
		d.Owner, err = t.owner(ref.Account)
		return err
	}, ref.Number, ref.Due)
	return item, err
}

// endDelivery stores the outcome of an attempt. After the first attempt at an
// event it releases the job's next event.
func (t *tx) endDelivery(f *store.Finish) error {
	end := f.Delivery
	if end.Log != nil {
		if err := t.insertLog(end.Log); err != nil {
			return err
		}
	}
	if end.Outcome != nil {
		if err := t.insertOutcomes([]store.AlertOutcome{*end.Outcome}); err != nil {
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
		ref := f.QueueKey
		ref.Due = end.Again
		if err := t.insertItem(ref, end.Attempt); err != nil {
			return err
		}
	}
	if end.ReleasesNext(channel, tried) {
		return t.releaseNext(jobNumber)
	}
	return nil
}

// releaseNext creates the queue item of a job's earliest waiting event.
func (t *tx) releaseNext(jobNumber int64) error {
	var next *store.QueueKey
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
	return t.insertItem(*next, 0)
}
