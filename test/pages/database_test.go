package pages

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// database is a store's database, whose rows the test copies with SQL.
type database interface {
	// rows returns the rows of a query, each value as text.
	rows(sql string) ([][]string, error)
	exec(sql string) error
	// columns selects the names of a table's columns; indexes, the names and definitions of
	// those indexes of a table that are no constraints.
	columns(table string) string
	indexes(table string) string
	// series is a relation s with a column k of the integers from one to another.
	series(from, to int) string
	// hex, id and digits convert an integer to twelve digits, those digits to an id, and
	// an id to its digits.
	hex(number string) string
	id(digits string) string
	digits(id string) string
	// finish prepares the statistics of the planner.
	finish() error
	close()
}

type postgresDatabase struct {
	ctx  context.Context
	conn *pgx.Conn
}

func openPostgres(t *testing.T, url string) database {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	d := &postgresDatabase{context.Background(), conn}
	// Triggers keep tables of tags, which are copied as the others.
	err = d.exec(`SET session_replication_role = replica; SET synchronous_commit = off;
		SET maintenance_work_mem = '512MB'; SET work_mem = '256MB'`)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *postgresDatabase) rows(sql string) ([][]string, error) {
	found, err := d.conn.Query(d.ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, func(row pgx.CollectableRow) ([]string, error) {
		values, err := row.Values()
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = fmt.Sprint(v)
		}
		return texts, err
	})
}

func (d *postgresDatabase) exec(sql string) error {
	_, err := d.conn.PgConn().Exec(d.ctx, sql).ReadAll()
	return err
}

func (d *postgresDatabase) columns(table string) string {
	return `SELECT attname::text FROM pg_attribute
		WHERE attrelid = '` + table + `'::regclass AND attnum > 0 AND NOT attisdropped AND attidentity = ''`
}

func (d *postgresDatabase) indexes(table string) string {
	return `SELECT c.relname::text, pg_get_indexdef(c.oid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid = '` + table + `'::regclass AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.conindid = c.oid)`
}

func (d *postgresDatabase) series(from, to int) string {
	return fmt.Sprintf("generate_series(%d::bigint, %d) AS s (k)", from, to)
}
func (d *postgresDatabase) hex(number string) string { return "lpad(to_hex(" + number + "), 12, '0')" }
func (d *postgresDatabase) id(digits string) string  { return "(" + digits + ")::uuid" }
func (d *postgresDatabase) digits(id string) string {
	return "replace((" + id + ")::text, '-', '')"
}
func (d *postgresDatabase) finish() error { return d.exec("VACUUM ANALYZE") }
func (d *postgresDatabase) close()        { _ = d.conn.Close(d.ctx) }

type sqliteDatabase struct{ conn *sqlite.Conn }

func openSQLite(t *testing.T, path string) database {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	d := &sqliteDatabase{conn}
	for _, sql := range []string{"PRAGMA synchronous = OFF", "PRAGMA cache_size = -500000", "PRAGMA temp_store = MEMORY"} {
		if err := d.exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *sqliteDatabase) rows(sql string) (all [][]string, err error) {
	err = sqlitex.ExecuteTransient(d.conn, sql, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		texts := make([]string, stmt.ColumnCount())
		for i := range texts {
			texts[i] = stmt.ColumnText(i)
		}
		all = append(all, texts)
		return nil
	}})
	return all, err
}

func (d *sqliteDatabase) exec(sql string) error { return sqlitex.ExecuteTransient(d.conn, sql, nil) }

func (d *sqliteDatabase) columns(table string) string {
	automatic := map[string]string{"logs": "seq"} // assigned by the database
	return "SELECT name FROM pragma_table_info('" + table + "') WHERE name <> '" + automatic[table] + "'"
}

func (d *sqliteDatabase) indexes(table string) string {
	return "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = '" + table + "'"
}

func (d *sqliteDatabase) series(from, to int) string {
	return fmt.Sprintf("(WITH RECURSIVE n (k) AS (SELECT %d UNION ALL SELECT k + 1 FROM n WHERE k < %d) SELECT k FROM n) AS s", from, to)
}
func (d *sqliteDatabase) hex(number string) string { return "printf('%012x', " + number + ")" }
func (d *sqliteDatabase) id(digits string) string  { return "unhex(" + digits + ")" }
func (d *sqliteDatabase) digits(id string) string  { return "lower(hex(" + id + "))" }
func (d *sqliteDatabase) finish() error            { return d.exec("PRAGMA wal_checkpoint(TRUNCATE)") }
func (d *sqliteDatabase) close()                   { _ = d.conn.Close() }

// names returns the columns of a table.
func names(d database, table string) ([]string, error) {
	found, err := d.rows(d.columns(table))
	all := make([]string, len(found))
	for i, row := range found {
		all[i] = strings.TrimSpace(row[0])
	}
	return all, err
}
