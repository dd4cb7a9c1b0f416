package sqlite

import (
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/store"
)

// TestLargeRecordsAreRemovedAFewAtATime: the writer does nothing else meanwhile.
func TestLargeRecordsAreRemovedAFewAtATime(t *testing.T) {
	s := openTest(t)
	owner := addOwner(t, s)
	const jobs, size, most = 20, 1 << 20, removedBytes>>20 + 1
	for range jobs {
		insert(t, s, newJob(s, owner, `{"url":"https://example.com","body":"`+strings.Repeat("b", size)+`"}`))
	}
	if err := s.AccountDelete(t.Context(), owner.Number, s.Now()); err != nil {
		t.Fatal(err)
	}
	removed := 0
	for {
		n, err := s.AccountPurge(t.Context(), s.Now().Add(-time.Hour), 200)
		if err != nil {
			t.Fatal(err)
		}
		if n > most {
			t.Errorf("%d records of 1 MiB were removed at once, want %d at most", n, most)
		}
		if n == 0 {
			break
		}
		removed += n
	}
	if removed != jobs {
		t.Errorf("%d records were removed, want %d", removed, jobs)
	}
}

// TestLogsThatMessagesNeedStay among old and new ones, however many they are.
func TestLogsThatMessagesNeedStay(t *testing.T) {
	s := openTest(t)
	owner := addOwner(t, s)
	const messages = 5000
	fill := func(n int, at time.Time) {
		err := s.write(t.Context(), func(x *tx) error {
			return x.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT ?)
				INSERT INTO logs (id, account, job, event, inserted_at, payload) SELECT randomblob(16), ?, i, 2, ?, '{}' FROM n`, n,
				owner.Number, at)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fill(300, s.Now().Add(-2*time.Hour))
	fill(messages, s.Now())
	err := s.write(t.Context(), func(x *tx) error {
		return x.exec(`INSERT INTO deliveries (message, account, job, job_attempt, channel, url, event, attempt, due, begin_at, body, parts)
			SELECT 'm', account, job, 1, 2, 'u', 'e', 1, 1, 1, '{}', lower(hex(id)) FROM logs WHERE seq % 3 = 0`)
	})
	if err != nil {
		t.Fatal(err)
	}
	before, removed := s.Now().Add(-time.Hour), 0
	for batch := (store.Pruned{More: true}); batch.More; removed += batch.Removed {
		if batch, err = s.LogPrune(t.Context(), before, batch.Next, 64); err != nil {
			t.Fatal(err)
		}
	}
	if removed != 200 {
		t.Errorf("%d logs were removed, want the 200 that no message refers to", removed)
	}
	rows := 0
	err = s.readAs(t.Context(), background, func(x *tx) error {
		return x.query(`SELECT count(*) FROM logs`, func(stmt *sqlite.Stmt) error {
			rows = stmt.ColumnInt(0)
			return nil
		})
	})
	if err != nil || rows != messages+100 {
		t.Errorf("%d logs are left (%v), want %d", rows, err, messages+100)
	}
}
