package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/store"
)

// QueueMove implements store.Parking.
func (s *Store) QueueMove(ctx context.Context, refs []store.QueueKey, by time.Duration) error {
	return s.write(ctx, func(t *tx) error {
		for i := range refs {
			if err := t.moveItem(refs[i], by); err != nil {
				return fmt.Errorf("postponing a queue item: %w", err)
			}
		}
		return nil
	})
}

func (t *tx) moveItem(ref store.QueueKey, by time.Duration) error {
	attempt := -1
	err := t.query(`DELETE FROM runs WHERE due = ? AND kind = ? AND number = ? AND node = 0 RETURNING attempt, revision`,
		func(stmt *sqlite.Stmt) error {
			attempt, ref.Revision = stmt.ColumnInt(0), stmt.ColumnInt64(1)
			return nil
		}, ref.Due, ref.Kind, ref.Number)
	if err != nil || attempt < 0 {
		return err
	}
	record := `UPDATE jobs SET due_at = ? WHERE number = ? AND due_at = ?`
	if ref.Kind == store.KindDelivery {
		record = `UPDATE deliveries SET due = ? WHERE number = ? AND due = ?`
	}
	before := ref.Due
	ref.Due = ref.Due.Add(by)
	if err := t.exec(record, ref.Due, ref.Number, before); err != nil {
		return err
	}
	return t.insertItem(ref, attempt)
}

// crashCounted is the count of crashes of a suspect after another one.
const crashCounted = `max(crashes + alone, 1)`

// SuspectNote implements store.Suspects.
func (s *Store) SuspectNote(ctx context.Context, node int64, refs []store.QueueKey, single bool) error {
	return s.write(ctx, func(t *tx) error {
		for _, ref := range refs {
			err := t.exec(`INSERT INTO suspects (kind, number, due, account, lane, node, crashes, alone) VALUES (?, ?, ?, ?, ?, ?, 0, ?)
				ON CONFLICT DO UPDATE SET node = excluded.node, due = excluded.due, alone = excluded.alone,
					crashes = CASE WHEN node IN (0, excluded.node) THEN crashes ELSE `+crashCounted+` END`,
				ref.Kind, ref.Number, ref.Due, ref.Account, ref.Lane, node, single)
			if err != nil {
				return fmt.Errorf("storing a suspect: %w", err)
			}
		}
		return nil
	})
}

// SuspectClear implements store.Suspects.
func (s *Store) SuspectClear(ctx context.Context, refs []store.QueueKey) error {
	return s.write(ctx, func(t *tx) error {
		for _, ref := range refs {
			if err := t.exec(`DELETE FROM suspects WHERE kind = ? AND number = ?`, ref.Kind, ref.Number); err != nil {
				return fmt.Errorf("deleting a suspect: %w", err)
			}
		}
		return nil
	})
}

// nodeMark is the kind of a row that exists while a node runs. A row of an
// earlier node means that it ended without NodeStop.
const nodeMark = -1

// markNode inserts this node's row and assigns the rows of the earlier node to
// goneNode.
func (t *tx) markNode() error {
	if err := t.exec(`UPDATE suspects SET node = ? WHERE node > 0`, goneNode); err != nil {
		return err
	}
	return t.exec(`INSERT INTO suspects (kind, number, due, account, lane, node, crashes) VALUES (?, 0, 0, 0, 0, ?, 0) ON CONFLICT DO NOTHING`, nodeMark, thisNode)
}

// NodeStop implements store.Queue. The next NodeStart abandons the remaining
// claims. The row of an earlier node stays until SuspectList has reported it.
func (s *Store) NodeStop(ctx context.Context, _ int64) error {
	return s.write(ctx, func(t *tx) error {
		return t.exec(`DELETE FROM suspects WHERE kind = ? AND node = ?`, nodeMark, thisNode)
	})
}

// SuspectList implements store.Suspects.
func (s *Store) SuspectList(ctx context.Context, _ int64, limit int) (suspects []store.Suspect, unclean bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		suspects, unclean = nil, false
		err := t.exec(`UPDATE suspects SET node = ? WHERE kind = ? AND node <> ?`, thisNode, nodeMark, thisNode)
		if err != nil {
			return fmt.Errorf("reading how the previous node ended: %w", err)
		}
		unclean = t.changed() > 0
		if err := t.exec(`UPDATE suspects SET node = 0, crashes = `+crashCounted+` WHERE node = ?`, goneNode); err != nil {
			return fmt.Errorf("counting crashes: %w", err)
		}
		return t.query(`SELECT due, kind, number, account, lane, crashes FROM suspects WHERE crashes > 0 ORDER BY crashes DESC, kind, number LIMIT ?`,
			func(stmt *sqlite.Stmt) error {
				c := &columns{stmt: stmt}
				suspects = append(suspects, store.Suspect{QueueKey: scanRef(c), Crashes: c.int()})
				return nil
			}, limit)
	})
	return suspects, unclean, err
}
