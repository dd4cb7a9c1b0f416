package sqlite

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"zombiezen.com/go/sqlite"

	lib "modernc.org/sqlite/lib"

	"github.com/punctual-dev/punctual/internal/store"
)

// pagesRead returns how many pages the connection of background reads has read since
// the last call.
func pagesRead(t *testing.T, s *Store) (n int) {
	t.Helper()
	conn, err := s.pools[background].Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.pools[background].Put(conn)
	for _, op := range []int32{lib.SQLITE_DBSTATUS_CACHE_HIT, lib.SQLITE_DBSTATUS_CACHE_MISS} {
		n += dbStatus(t, conn, op)
	}
	return n
}

// dbStatus reads and resets a counter of a connection. The driver does not export it.
func dbStatus(t *testing.T, conn *sqlite.Conn, op int32) int {
	t.Helper()
	fields := reflect.ValueOf(conn).Elem()
	tls := fields.FieldByName("tls")
	tls = reflect.NewAt(tls.Type(), unsafe.Pointer(tls.UnsafeAddr())).Elem()
	values := new([2]int32)
	result := reflect.ValueOf(lib.Xsqlite3_db_status).Call([]reflect.Value{
		tls, reflect.ValueOf(uintptr(fields.FieldByName("conn").Uint())), reflect.ValueOf(op),
		reflect.ValueOf(uintptr(unsafe.Pointer(&values[0]))), reflect.ValueOf(uintptr(unsafe.Pointer(&values[1]))),
		reflect.ValueOf(int32(1)),
	})
	if code := result[0].Int(); code != lib.SQLITE_OK {
		t.Fatalf("sqlite3_db_status returned %d", code)
	}
	return int(values[0])
}

// TestPrune_ReadsBoundedPages: however many runs of disabled schedules there are, also if
// they became final at the same time.
func TestPrune_ReadsBoundedPages(t *testing.T) {
	const kept, gone, limit, bound = 4000, 50, 200, 25 * 200
	s := openTest(t)
	owner := addOwner(t, s)
	err := s.write(t.Context(), func(x *tx) error {
		const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?) `
		err := x.exec(numbers+`INSERT INTO schedules (id, account, name, inserted_at, first_due, epoch, args)
			SELECT CAST(printf('%016d', i) AS BLOB), ?, 'name', 0, 0, 0, '{}' FROM n`, kept, owner.Number)
		if err != nil {
			return err
		}
		return x.exec(numbers+`INSERT INTO jobs (id, account, state, schedule_id, inserted_at, scheduled_at, due_at, completed_at, args)
			SELECT randomblob(16), ?, 4, CASE WHEN i <= ? THEN CAST(printf('%016d', i) AS BLOB) END, 0, 0, 0, i > 100, '{}' FROM n`,
			kept+gone, owner.Number, kept)
	})
	if err != nil {
		t.Fatal(err)
	}
	pagesRead(t, s)
	removed, batches, most, before := 0, 0, 0, s.Now().Add(-time.Hour)
	for batch := (store.Pruned{More: true}); batch.More; batches++ {
		if batch, err = s.JobPrune(t.Context(), before, batch.Next, limit); err != nil {
			t.Fatal(err)
		}
		removed, most = removed+batch.Removed, max(most, pagesRead(t, s))
	}
	if removed != gone || batches != (kept+gone)/limit+1 || most > bound || most == 0 {
		t.Errorf("%d jobs were removed in %d batches of up to %d pages, want %d, and %d pages at most", removed, batches, most, gone, bound)
	}
}
