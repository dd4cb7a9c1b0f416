package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// AccountPurge implements store.People. It deletes what creates queue items
// first.
func (s *Store) AccountPurge(ctx context.Context, settled time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		n = 0
		deleted := map[int64]time.Time{}
		err := t.query(`SELECT number, deleted_at FROM accounts INDEXED BY accounts_purge WHERE deleted_at IS NOT NULL AND purged_at IS NULL`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			deleted[c.int64()] = c.time()
			return nil
		})
		if err != nil {
			return fmt.Errorf("looking for deleted accounts: %w", err)
		}
		for account, at := range deleted {
			if n, err = t.purge(account, limit); err != nil || n > 0 {
				return err
			}
			if err := t.Run(records.LockOut(records.SQLite, account)...); err != nil {
				return err
			}
			if at.Before(settled) {
				if err := t.exec(`UPDATE accounts SET purged_at = ? WHERE number = ?`, t.now, account); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return n, err
}

func (t *tx) purge(account int64, limit int) (int, error) {
	t.store.uses.forget(account)
	err := t.exec(`DELETE FROM schedules WHERE id IN (`+
		within(`SELECT id AS key, octet_length(args) + coalesce(octet_length(state), 0) + coalesce(octet_length(previous), 0) AS size
		FROM schedules WHERE account = ? LIMIT ?`)+`)`, account, limit)
	if n := t.changed(); err != nil || n > 0 {
		return n, err
	}
	if n, err := t.purgeJobs(account, limit); err != nil || n > 0 {
		return n, err
	}
	for _, some := range []string{
		`DELETE FROM logs WHERE seq IN (` + within(`SELECT seq AS key, `+payloadSize+` AS size FROM logs l WHERE account = ? LIMIT ?`) +
			`)`,
		`DELETE FROM job_tags WHERE (account, tag, number) IN (SELECT account, tag, number FROM job_tags WHERE account = ? LIMIT ?)`,
		`DELETE FROM schedule_tags WHERE (account, tag, id) IN (SELECT account, tag, id FROM schedule_tags WHERE account = ? LIMIT ?)`,
		`DELETE FROM operation_jobs WHERE rowid IN (SELECT rowid FROM operation_jobs WHERE operation IN (SELECT id FROM operations WHERE account = ?) LIMIT ?)`,
	} {
		if err := t.exec(some, account, limit); err != nil {
			return 0, fmt.Errorf("deleting the records of a deleted account: %w", err)
		}
		if n := t.changed(); n > 0 {
			return n, nil
		}
	}
	for _, owned := range records.Purged {
		n := 0
		if err := t.Run(owned.Purge(records.SQLite, account, limit, &n)); err != nil || n > 0 {
			return n, err
		}
	}
	return 0, nil
}

// purgeJobs deletes jobs with their queue items and deliveries, pending jobs
// first.
func (t *tx) purgeJobs(account int64, limit int) (int, error) {
	type ref struct {
		number int64
		due    time.Time
		size   int64
	}
	read := func(query string, args ...any) (refs []ref, err error) {
		err = t.query(query, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			refs = append(refs, ref{c.int64(), c.time(), c.int64()})
			return nil
		}, args...)
		return refs, err
	}
	jobs, err := read(`SELECT number, due_at, `+argsSize+` FROM jobs WHERE account = ? ORDER BY state, number LIMIT ?`, account, limit)
	if err != nil {
		return 0, err
	}
	n, size := 0, int64(0)
	for _, j := range jobs {
		if size >= removedBytes {
			break
		}
		n++
		size += j.size
		messages, err := read(`SELECT number, due, octet_length(body) FROM deliveries WHERE job = ?`, j.number)
		if err != nil {
			return 0, err
		}
		for _, m := range messages {
			size += m.size
			if err := t.exec(`DELETE FROM runs WHERE due = ? AND kind = ? AND number = ?`, m.due, store.KindDelivery,
				m.number); err != nil {
				return 0, err
			}
		}
		if err := t.exec(`DELETE FROM deliveries WHERE job = ?`, j.number); err != nil {
			return 0, err
		}
		if err := t.exec(`DELETE FROM completions WHERE job = ?`, j.number); err != nil {
			return 0, err
		}
		if err := t.exec(`DELETE FROM runs WHERE due = ? AND kind = ? AND number = ?`, j.due, store.KindJob, j.number); err != nil {
			return 0, err
		}
		if err := t.exec(`DELETE FROM jobs WHERE number = ?`, j.number); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// NodeList implements store.People: this process is the only node.
func (s *Store) NodeList(context.Context) ([]operator.Node, error) {
	return []operator.Node{{Number: thisNode}}, nil
}
