package sqlite

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobHolding implements store.Jobs.
func (s *Store) JobHolding(ctx context.Context, owner job.Owner, key string) (*job.Job, error) {
	found, err := one(ctx, s, func(t *tx) (*job.Job, error) { return t.named(owner.Number, key) })
	if err == nil && found == nil {
		return nil, fault.NoSuch("job")
	}
	return found, err
}

// ScheduleHolding implements store.Definitions.
func (s *Store) ScheduleHolding(ctx context.Context, owner job.Owner, key string) (*job.Schedule, error) {
	found, err := one(ctx, s, func(t *tx) (*job.Schedule, error) { return t.scheduleHolding(owner.Number, key) })
	if err == nil && found == nil {
		return nil, fault.NoSuch("schedule")
	}
	return found, err
}

// scheduleHolding returns the schedule that has a key; nil if there is none.
func (t *tx) scheduleHolding(account int64, key string) (*job.Schedule, error) {
	var s *job.Schedule
	err := t.query(`SELECT `+scheduleColumns+` FROM schedules s WHERE s.account = ? AND s.key = ?`, func(stmt *sqlite.Stmt) (err error) {
		s, err = t.scanSchedule(stmt)
		return err
	}, account, key)
	return s, err
}

// SchedulePut implements store.Definitions.
func (s *Store) SchedulePut(ctx context.Context, owner job.Owner, keys store.PutKeys,
	decide func(*store.Holders) ([]*store.Changes, error)) (over store.Quota, err error) {
	if err := s.hasSpace(); err != nil {
		return store.QuotaNone, err
	}
	err = s.write(ctx, func(t *tx) error {
		over = store.QuotaNone
		h := &store.Holders{Keys: make([]store.KeyHolder, len(keys.Keys))}
		size := 0
		for i, key := range keys.Keys {
			holder, err := t.keyHolding(owner.Number, key)
			if err != nil {
				return err
			}
			if size += holder.Size(); size > store.MaxPut {
				return store.TooMuchPut()
			}
			h.Keys[i] = *holder
		}
		if keys.Document != "" {
			if h.Entries, err = t.documentEntries(owner.Number, keys.Document); err != nil {
				return err
			}
		}
		changes, err := decide(h)
		if err != nil {
			return err
		}
		if err := t.goneFrom(owner.Number, changes...); err != nil {
			return err
		}
		if over, err = t.overAll(changes); err != nil || over != store.QuotaNone {
			return err
		}
		for i, c := range changes {
			if err := t.put(&h.Keys[i].Snapshot, c); err != nil {
				return err
			}
		}
		return nil
	})
	return over, err
}

// keyHolding returns what holds a key.
func (t *tx) keyHolding(account int64, key string) (*store.KeyHolder, error) {
	found, err := t.scheduleHolding(account, key)
	if err != nil {
		return nil, err
	}
	if found != nil {
		m, err := t.unfinished(found)
		if err != nil {
			return nil, err
		}
		return &store.KeyHolder{Snapshot: *m}, nil
	}
	holder := &store.KeyHolder{Snapshot: store.Snapshot{Now: t.now}}
	h, err := t.pendingHolders(selectBrief, account, key)
	if err == nil && h == nil {
		h, err = t.finalHolder(selectBrief, account, key, false)
	}
	if h != nil {
		holder.OneOff = t.shown(h.Job, h.Claim)
	}
	return holder, err
}

// overAll returns the limit that the new schedules among changes would exceed
// together.
func (t *tx) overAll(changes []*store.Changes) (store.Quota, error) {
	created := int64(0)
	for _, c := range changes {
		if c == nil || c.Next == nil || c.Next.Schedule == nil {
			continue
		}
		n := *c.Next
		if n.Caps.Schedules > 0 {
			if n.Caps.Schedules -= created; n.Caps.Schedules <= 0 {
				return store.QuotaSchedules, nil
			}
		}
		over, err := t.over(n)
		if err != nil || over != store.QuotaNone {
			return over, err
		}
		created++
	}
	return store.QuotaNone, nil
}

// put applies changes to the holder of a key, or creates a schedule.
func (t *tx) put(m *store.Snapshot, c *store.Changes) error {
	if c != nil && c.Next != nil && c.Next.Schedule != nil {
		if err := t.insertSchedule(c.Next.Schedule); err != nil {
			return err
		}
	}
	return t.applyTo(m, c)
}

// RunUnfinished implements store.Definitions.
func (s *Store) RunUnfinished(ctx context.Context, owner job.Owner, schedule uuid.UUID) (*job.Job, error) {
	return one(ctx, s, func(t *tx) (*job.Job, error) {
		latest, err := t.jobWhere(`j.schedule_id = ? AND j.account = ? ORDER BY j.number DESC LIMIT 1`, schedule, owner.Number)
		if err != nil || latest == nil || latest.State.Final() {
			return nil, err
		}
		return latest, nil
	})
}

// RunsEnded implements store.Definitions.
func (s *Store) RunsEnded(ctx context.Context, owner job.Owner, schedule uuid.UUID,
	look int) (latest *job.Job, states []job.State, err error) {
	// The signs keep SQLite from reading all final jobs of the account by jobs_list.
	err = s.readAs(ctx, single, func(t *tx) error {
		states = nil
		err := t.query(`SELECT state FROM jobs WHERE schedule_id = ? AND +account = ? AND +state >= 4 ORDER BY number DESC LIMIT ?`,
			func(stmt *sqlite.Stmt) error {
				states = append(states, job.State(stmt.ColumnInt(0)))
				return nil
			}, schedule, owner.Number, look)
		if err != nil {
			return fmt.Errorf("reading the states of runs: %w", err)
		}
		latest, err = t.jobWhere(`j.schedule_id = ? AND +j.account = ? AND +j.state >= 4 ORDER BY j.number DESC LIMIT 1`, schedule,
			owner.Number)
		return err
	})
	return latest, states, err
}

// JobTrail implements store.Jobs.
func (s *Store) JobTrail(ctx context.Context, owner job.Owner, number int64, limit int) (*job.Trail, error) {
	return one(ctx, s, func(t *tx) (*job.Trail, error) {
		trail := &job.Trail{}
		err := t.query(`SELECT event, inserted_at, `+cutText(`l`, `?4`, `?5`)+` FROM (
				SELECT event, inserted_at, payload, packed, size, id FROM logs WHERE job = ?1 AND account = ?2 AND inserted_at <= ?6 AND event IN (1, 2, 3, 10) ORDER BY id DESC LIMIT ?3) l
			ORDER BY id`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			l := job.AttemptLog{Event: events[c.int()], At: c.time()}
			l.Head, l.Tail = c.cut(job.AttemptHead, job.AttemptTail)
			trail.Logs = append(trail.Logs, l)
			return nil
		}, number, owner.Number, 3*limit, job.AttemptHead, job.AttemptTail, t.now)
		if err != nil {
			return nil, fmt.Errorf("reading the logs of attempts: %w", err)
		}
		for query, count := range map[string]*int{
			`SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE job = ? AND account = ? LIMIT ?)`:               &trail.Pending,
			`SELECT count(*) FROM (SELECT 1 FROM logs WHERE job = ? AND account = ? AND event IN (4, 5) LIMIT ?)`: &trail.Failed,
		} {
			err := t.query(query, func(stmt *sqlite.Stmt) error {
				*count = stmt.ColumnInt(0)
				return nil
			}, number, owner.Number, job.MaxTrailCount)
			if err != nil {
				return nil, fmt.Errorf("counting deliveries: %w", err)
			}
		}
		err = t.query(`SELECT number FROM jobs WHERE rerun_of = ? AND account = ? ORDER BY number DESC LIMIT ?`,
			func(stmt *sqlite.Stmt) error {
				trail.Reruns = append(trail.Reruns, stmt.ColumnInt64(0))
				return nil
			}, number, owner.Number, limit)
		return trail, err
	})
}
