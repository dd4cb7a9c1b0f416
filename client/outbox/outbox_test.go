package outbox_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/client/outbox"
	relay "github.com/punctual-dev/punctual/internal/outbox"
	"github.com/punctual-dev/punctual/test/pgtest"
)

func schema(t *testing.T, dialect string) string {
	text, err := relay.Schema(dialect)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var reminder = client.JobRequest{URL: "https://shop.example/remind?a=1&b=2", Body: json.RawMessage(`{"z":1.10,"a":"<>"}`),
	ScheduleIn: client.Duration(time.Hour)}

const wantReminder = `{"url":"https://shop.example/remind?a=1&b=2","body":{"z":1.10,"a":"<>"},"schedule_in":3600}`

func TestEnqueue_CommitsWithTheTransaction(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(schema(t, "sqlite") + `CREATE TABLE orders (number INTEGER PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	for number, commits := range map[int]bool{1: true, 2: false} {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(`INSERT INTO orders VALUES (?)`, number)
		id, enqueued := outbox.Enqueue(t.Context(), tx, reminder, outbox.In(outbox.SQLite), outbox.OrderingKey("customer-7"))
		if err != nil || enqueued != nil || len(id) != 36 || id[14] != '7' {
			t.Fatal(id, err, enqueued)
		}
		if commits {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var orders, rows int
	var job, key string
	if err := db.QueryRow(`SELECT (SELECT count(*) FROM orders), count(*), max(job), max(ordering_key) FROM punctual_outbox`).Scan(&orders,
		&rows, &job, &key); err != nil {
		t.Fatal(err)
	}
	if orders != 1 || rows != 1 || job != wantReminder || key != "customer-7" {
		t.Errorf("%d orders, %d rows, %s with the key %s", orders, rows, job, key)
	}
}

func TestEnqueuePGX_CommitsWithTheTransaction(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), schema(t, "postgres")); err != nil {
		t.Fatal(err)
	}
	for _, commits := range []bool{true, false} {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := outbox.EnqueuePGX(t.Context(), tx, reminder); err != nil {
			t.Fatal(err)
		}
		if commits {
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var rows int
	var job string
	if err := conn.QueryRow(t.Context(), `SELECT count(*), max(job::text) FROM punctual_outbox`).Scan(&rows, &job); err != nil ||
		rows != 1 || job != wantReminder {
		t.Errorf("%d rows, %s, %v", rows, job, err)
	}
}

func TestEnqueue_RefusesWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	if _, err := outbox.Enqueue(t.Context(), nil, client.JobRequest{URL: "https://x",
		Description: strings.Repeat("x", outbox.MaxJob)}); !errors.Is(err, outbox.ErrTooLarge) {
		t.Errorf("a large one: %v", err)
	}
	if _, err := outbox.Enqueue(t.Context(), nil, client.JobRequest{URL: "https://x", RequestID: "mine"}); err == nil {
		t.Error("a RequestID is accepted")
	}
}
