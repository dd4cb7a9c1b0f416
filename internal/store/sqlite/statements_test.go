package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"zombiezen.com/go/sqlite"
)

// planning counts the statements that a connection plans.
type planning struct{ n atomic.Int64 }

func (p *planning) Authorize(sqlite.Action) sqlite.AuthResult {
	p.n.Add(1)
	return sqlite.AuthResultOK
}

// observe reports the planning of all connections of a store to p.
func (p *planning) observe(t *testing.T, s *Store) {
	t.Helper()
	err := s.write(t.Context(), func(tx *tx) error { return tx.conn.SetAuthorizer(p) })
	for class, pool := range s.pools {
		for range connections[class] {
			conn, takeErr := pool.Take(t.Context())
			if takeErr != nil {
				t.Fatal(takeErr)
			}
			defer pool.Put(conn)
			if err == nil {
				err = conn.SetAuthorizer(p)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestHotOperations_ArePlannedOnce has an account with the number 1 and values of 0
// and 1, for which SQLite would plan statements again.
func TestHotOperations_ArePlannedOnce(t *testing.T) {
	// These do something else when they are repeated.
	changing := []string{"purge", "prune jobs", "finish", "cancel", "count months"}
	built := build(t)
	for _, c := range hot {
		if slices.Contains(changing, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			scene := built.copied(t)
			var p planning
			run := func() {
				for range connections[engine] { // no class has more
					if err := c.run(scene); err != nil {
						t.Fatal(err)
					}
				}
			}
			run()
			p.observe(t, scene.s) // which has all planned again
			run()
			n := int64(1)
			for round := 0; n > 0 && round < 5; round++ { // a connection in use may have missed a round
				p.n.Store(0)
				run()
				n = p.n.Load()
			}
			if n > 0 {
				t.Errorf("statements are planned again each time, in %d steps", n)
			}
		})
	}
}

func TestStatements_ReleaseLargeParameters(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "p.db"), true)
	defer closeStore(t, s)
	large := strings.Repeat("x", maxKeptArg+1)
	const query = `SELECT length(?), length(?)`
	err := s.write(t.Context(), func(tx *tx) error {
		var got []int64
		read := func(stmt *sqlite.Stmt) error {
			got = append(got, stmt.ColumnInt64(0), stmt.ColumnInt64(1))
			return nil
		}
		if err := tx.query(query, read, large, "abc"); err != nil {
			return err
		}
		stmt, err := tx.statements.get(tx.conn, query)
		if err != nil {
			return err
		}
		if err := tx.run(stmt, query, read); err != nil {
			return err
		}
		if len(got) != 4 || got[0] != int64(len(large)) || got[1] != 3 || got[2] != 0 || got[3] != 3 {
			t.Errorf("the lengths are %v, want %d and 3, then 0 and 3", got, len(large))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
