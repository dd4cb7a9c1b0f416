// Package records stores what need not be fast: one implementation for all
// databases. Stores embed Records, made by New with the Engine that runs its
// statements; Records implements methods of store.Store.
//
// Here live the cold tables: blocked targets, header secrets, definitions of limits
// and whatever else needs no more than lookups and short transactions. The queue, and
// jobs, schedules, logs and deliveries, which are stored by the thousand, live in
// packages sqlite and postgres, which know how their database is fastest. See
// docs/adr/0002-two-stores.md.
//
// # Statements
//
// A statement is written once, in the SQL that both databases understand, with
//
//   - parameters $1, $2 … (each may be repeated, all must be used);
//   - account = $1, which Dialect.Text hides from PostgreSQL's planner where needed;
//   - casts such as $2::bigint where PostgreSQL can't infer a type;
//   - greatest and least, with arguments that are not null;
//   - name = ANY($2) for a []string or []int64; FROM notes WHERE account = $1 AND number = EACH($2)
//     for a []int64, each of which is to be a lookup by the primary key;
//   - FOR UPDATE, FOR KEY SHARE, COLLATE "C", INDEXED BY and NOT INDEXED (by the number only), each for the database that has it;
//   - SELECT 1, not SELECT, in subqueries, and an alias for each in FROM;
//   - LIMIT before OFFSET, and booleans compared as booleans.
//
// Queries that are run together take one round trip to PostgreSQL. A statement that
// only locks has Query.Lock. A fault (fault.Error) that refuses a call must come before
// the first change.
//
// # Adding a table
//
// Add the migration to each store, with the same number and name. Then describe the
// table, one entry a column, and write the methods:
//
//	var notes = Table[store.Note]{
//		Name: "notes", Key: []string{"account", "name"},
//		Columns: []Column[store.Note]{
//			{"account", func(n *store.Note) any { return &n.Account }},
//			{"name", func(n *store.Note) any { return &n.Name }},
//			{"hosts", func(n *store.Note) any { return &list{to: &n.Hosts} }}, // a Form
//			{"created_at", func(n *store.Note) any { return &n.CreatedAt }},
//		},
//	}
//
//	func (r *Records) NotePut(ctx context.Context, n *store.Note) error {
//		return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
//			others := 0
//			err := t.Run(lockAccount(n.Account), Query{
//				SQL:  `SELECT count(*) FROM notes WHERE account = $1 AND name <> $2`,
//				Args: []any{n.Account, n.Name}, Row: into(&others),
//			})
//			switch {
//			case err != nil:
//				return nil, err
//			case others >= store.MaxNotes:
//				return nil, fault.New(fault.Invalid, "…")
//			}
//			return []Query{notes.Put(n, "created_at")}, nil // keeps the stored created_at
//		})
//	}
//
//	func (r *Records) NoteList(ctx context.Context, account int64) ([]*store.Note, error) {
//		return read(ctx, r, Pages, &notes, `WHERE account = $1 ORDER BY name LIMIT $2`, account, store.MaxNotes)
//	}
//
//	func (r *Records) NoteDelete(ctx context.Context, account int64, name string) error {
//		return r.write(ctx, Query{
//			SQL: `DELETE FROM notes WHERE account = $1 AND name = $2`, Args: []any{account, name}, None: fault.NoSuch("note"),
//		})
//	}
//
// Declare the methods in an interface of package store, add a group to storetest, and
// an operation to work_ops_test.go in package postgres. If copydb copies the table, add
// it to store.Records and to Copy. If it belongs to an account, have lockOut or
// AccountPurge of the stores delete it.
package records
