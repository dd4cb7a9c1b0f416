package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const completionColumns = `token, account, job, attempt, started_at, within, heartbeat, epoch, state, deadline, heard_at, reported, early, progress, request, response`

// completion returns a completion; nil if there is none.
func (t *tx) completion(where string, args ...any) (*job.Completion, error) {
	var found *job.Completion
	err := t.query(`SELECT `+completionColumns+` FROM completions WHERE `+where, func(stmt *sqlite.Stmt) (err error) {
		c := &columns{stmt: stmt}
		f := &job.Completion{Token: job.TokenHash(c.blob())}
		account := c.int64()
		f.Job, f.Attempt, f.StartedAt = c.int64(), c.int(), c.time()
		f.Within, f.Heartbeat = microseconds(c.int64()), microseconds(c.int64())
		f.Epoch, f.State, f.Deadline, f.HeardAt = c.int64(), job.CompletionState(c.int()), c.time(), c.time()
		f.Reported, f.Early, f.Progress, f.Request, f.Response = c.blob(), c.json(), c.json(), c.uuid(), c.uuid()
		f.Owner, err = t.owner(account)
		found = f
		return err
	}, args...)
	return found, err
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func (t *tx) insertCompletion(c *job.Completion) error {
	err := t.exec(`INSERT INTO completions (`+completionColumns+
		`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		c.Token[:], c.Owner.Number, c.Job, c.Attempt, c.StartedAt, c.Within.Microseconds(), c.Heartbeat.Microseconds(), c.Epoch,
		int(c.State),
		c.Deadline, c.HeardAt, blobOrNull(c.Reported), c.Early, c.Progress, c.Request, c.Response)
	if err != nil {
		return fmt.Errorf("inserting a completion: %w", err)
	}
	return nil
}

func blobOrNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// applyCompletions stores what changes say about completions.
func (t *tx) applyCompletions(c *store.Changes) error {
	if n := c.Completion; n != nil {
		err := t.exec(`UPDATE completions SET started_at = ?, state = ?, deadline = ?, heard_at = ?, reported = ?, early = ?, progress = ?, response = ?,
			sealed = iif(?, NULL, sealed) WHERE token = ?`,
			n.StartedAt, int(n.State), n.Deadline, n.HeardAt, blobOrNull(n.Reported), n.Early, n.Progress, n.Response,
			n.State == job.CompletionOver, n.Token[:])
		if err != nil {
			return fmt.Errorf("updating a completion: %w", err)
		}
	}
	if c.EndCompletions {
		err := t.exec(`UPDATE completions SET state = ?, deadline = NULL, early = NULL, sealed = NULL WHERE account = ? AND job = ? AND state < ?`,
			int(job.CompletionOver), c.Job.Owner.Number, c.Job.Number, int(job.CompletionOver))
		if err != nil {
			return fmt.Errorf("ending completions: %w", err)
		}
	}
	return nil
}

// await stores the queue item of a job, claimed for as long as the attempt awaits
// its completion.
func (t *tx) await(j *job.Job, item store.QueueKey, c *job.Completion) error {
	err := t.exec(`INSERT INTO runs (due, kind, number, account, lane, attempt, revision, node, begin_at, log) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		item.Due, item.Kind, item.Number, item.Account, item.Lane, c.Attempt, item.Revision, store.AwaitingNode, c.StartedAt, c.Request)
	if err != nil {
		return fmt.Errorf("keeping a queue item for its completion: %w", err)
	}
	return t.keepLimits(j)
}

// CompletionGet implements store.Completions.
func (s *Store) CompletionGet(ctx context.Context, token job.TokenHash) (*store.Awaited, error) {
	found, err := oneAs(ctx, s, pages, func(t *tx) (*store.Awaited, error) {
		c, err := t.completion(`token = ?`, token[:])
		if c == nil || err != nil {
			return nil, err
		}
		m, err := t.snapshot(`j.number = ?`, c.Job)
		if err != nil || m.Job == nil {
			return nil, err
		}
		a := &store.Awaited{Completion: c, Job: m.Job}
		if m.Job.ScheduleID != uuid.Nil {
			if a.Schedule, err = t.schedule(m.Job.ScheduleID); err != nil {
				return nil, err
			}
		}
		if a.Request, err = t.payload(c, c.Request); err != nil {
			return nil, err
		}
		if a.Response, err = t.payload(c, c.Response); err != nil {
			return nil, err
		}
		return a, t.query(`SELECT sealed FROM completions WHERE token = ?`, func(stmt *sqlite.Stmt) error {
			a.Sealed = (&columns{stmt: stmt}).blob()
			return nil
		}, token[:])
	})
	if err == nil && found == nil {
		return nil, fault.NoSuch("completion")
	}
	return found, err
}

// payload returns the payload of a log of an attempt; nil if there is none.
func (t *tx) payload(c *job.Completion, log uuid.UUID) (payload rawjson.Value, err error) {
	if log == uuid.Nil {
		return nil, nil
	}
	err = t.query(`SELECT payload, packed, size FROM logs WHERE job = ? AND id = ?`, func(stmt *sqlite.Stmt) error {
		payload = (&columns{stmt: stmt}).packable()
		return nil
	}, c.Job, log)
	return payload, err
}

// CompletionOf implements store.Completions.
func (s *Store) CompletionOf(ctx context.Context, owner job.Owner, number int64) (*job.Completion, error) {
	return oneAs(ctx, s, pages, func(t *tx) (*job.Completion, error) {
		return t.completion(`account = ? AND job = ? ORDER BY started_at DESC LIMIT 1`, owner.Number, number)
	})
}

// CompletionChange implements store.Completions.
func (s *Store) CompletionChange(ctx context.Context, c *job.Completion, decide store.Decide) (*job.Job, error) {
	return s.jobChange(ctx, c.Owner, job.Ref{Number: c.Job}, &c.Token, decide)
}
