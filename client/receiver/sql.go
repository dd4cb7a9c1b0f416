package receiver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// Store remembers messages in a database. Its methods work in the transaction that
// they are given.
type Store interface {
	// Claim records a message, or reports that it is known. If another transaction is
	// recording it, Claim waits for its end or fails.
	Claim(ctx context.Context, tx *sql.Tx, id string, now time.Time) (first bool, err error)
	// Keep stores the response to a claimed message.
	Keep(ctx context.Context, tx *sql.Tx, id string, response Response) error
	// Find returns the response to a message that is known.
	Find(ctx context.Context, tx *sql.Tx, id string) (Response, error)
	// Forget deletes up to a thousand messages that were recorded before a time.
	Forget(ctx context.Context, tx *sql.Tx, before time.Time) error
}

// Response is a response that is kept to answer repeats.
type Response struct {
	Status      int
	ContentType string
	Body        []byte
}

// TxHandler handles a message in a transaction, which it neither commits nor rolls
// back. The transaction is committed if it returns nil and the response's status is
// 2xx; the response is sent after that. An error is answered with 503, which makes
// the service try again.
type TxHandler func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error

// forgetEvery is how often messages that are too old are deleted.
const forgetEvery = 10 * time.Minute

// NewSQL returns a handler that passes each verified message to next in a transaction
// of the database, and commits each once. The store is SQLite or PostgreSQL, with its
// table created, or one of your own.
func NewSQL(db *sql.DB, store Store, next TxHandler, options Options) (http.Handler, error) {
	options, err := options.withDefaults(30 * 24 * time.Hour)
	if err != nil {
		return nil, err
	}
	s := &sqlReceiver{db: db, store: store, next: next, options: options}
	return http.HandlerFunc(s.serve), nil
}

type sqlReceiver struct {
	db      *sql.DB
	store   Store
	next    TxHandler
	options Options
	// forgotten is when old messages were last deleted, in Unix nanoseconds.
	forgotten atomic.Int64
}

func (s *sqlReceiver) serve(w http.ResponseWriter, r *http.Request) {
	r = s.options.verified(w, r)
	if r == nil {
		return
	}
	s.forget(r)
	answer, err := s.receive(r)
	if err != nil {
		s.options.unavailable(w, r, err)
		return
	}
	answer(w)
}

// receive handles a message and returns how to answer it once its effect is certain.
func (s *sqlReceiver) receive(r *http.Request) (func(http.ResponseWriter), error) {
	ctx, id := r.Context(), Message(r.Context()).ID
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("receiver: beginning a transaction: %w", err)
	}
	defer tx.Rollback() // after Commit it does nothing; also after a panic
	first, err := s.store.Claim(ctx, tx, id, s.options.Now())
	if err != nil {
		return nil, fmt.Errorf("receiver: recording the message: %w", err)
	}
	if !first {
		known, err := s.store.Find(ctx, tx, id)
		if err != nil {
			return nil, fmt.Errorf("receiver: reading the response: %w", err)
		}
		kept := response{known.Status, known.ContentType, known.Body}
		return kept.repeat, nil
	}
	recorder := newRecorder(s.options.MaxResponse)
	if err := s.next(recorder, r, tx); err != nil {
		return nil, err
	}
	got, err := recorder.finish()
	if err != nil || !got.ok() {
		return recorder.send, err
	}
	if err := s.store.Keep(ctx, tx, id, Response{got.status, got.contentType, got.body}); err != nil {
		return nil, fmt.Errorf("receiver: storing the response: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("receiver: committing: %w", err)
	}
	return recorder.send, nil
}

// forget deletes old messages now and then, in a transaction of its own. If it fails,
// the next one does it.
func (s *sqlReceiver) forget(r *http.Request) {
	now := s.options.Now()
	last := s.forgotten.Load()
	if now.Sub(time.Unix(0, last)) < forgetEvery || !s.forgotten.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	err := func() error {
		tx, err := s.db.BeginTx(r.Context(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := s.store.Forget(r.Context(), tx, now.Add(-s.options.Remember)); err != nil {
			return err
		}
		return tx.Commit()
	}()
	if err != nil {
		s.options.Failed(r, fmt.Errorf("receiver: deleting old messages: %w", err))
	}
}

// Table is the table that SQLite and PostgreSQL use.
const Table = "punctual_messages"

// dialect is what differs between databases.
type dialect struct{ blob, first, second, third, fourth string }

// The stores of this package. Create makes the table. SQLite needs a busy timeout, as
// for every program that writes concurrently.
var (
	SQLite     = SQLStore{dialect{"BLOB", "?", "?", "?", "?"}}
	PostgreSQL = SQLStore{dialect{"BYTEA", "$1", "$2", "$3", "$4"}}
)

// SQLStore is a Store in the table Table.
type SQLStore struct{ dialect dialect }

// Create creates the table unless it is there.
func (s SQLStore) Create(ctx context.Context, db *sql.DB) error {
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS " + Table + " (id TEXT PRIMARY KEY, received_at BIGINT NOT NULL, status INTEGER NOT NULL, content_type TEXT NOT NULL, body " + s.dialect.blob + " NOT NULL)",
		"CREATE INDEX IF NOT EXISTS " + Table + "_received_at ON " + Table + " (received_at)",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("receiver: creating the table: %w", err)
		}
	}
	return nil
}

// Claim records a message. The database makes a concurrent one wait.
func (s SQLStore) Claim(ctx context.Context, tx *sql.Tx, id string, now time.Time) (bool, error) {
	d := s.dialect
	result, err := tx.ExecContext(ctx, "INSERT INTO "+Table+" (id, received_at, status, content_type, body) VALUES ("+d.first+", "+d.second+
		", 0, '', "+d.third+") ON CONFLICT (id) DO NOTHING", id, now.Unix(), []byte{})
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows == 1, err
}

// Keep stores a response.
func (s SQLStore) Keep(ctx context.Context, tx *sql.Tx, id string, response Response) error {
	d := s.dialect
	body := response.Body
	if body == nil {
		body = []byte{}
	}
	_, err := tx.ExecContext(ctx, "UPDATE "+Table+" SET status = "+d.first+", content_type = "+d.second+", body = "+d.third+" WHERE id = "+
		d.fourth, response.Status, response.ContentType, body, id)
	return err
}

// Find returns a response.
func (s SQLStore) Find(ctx context.Context, tx *sql.Tx, id string) (Response, error) {
	var found Response
	err := tx.QueryRowContext(ctx, "SELECT status, content_type, body FROM "+Table+" WHERE id = "+s.dialect.first, id).Scan(&found.Status,
		&found.ContentType, &found.Body)
	if err == nil && found.Status == 0 {
		err = errors.New("the message was recorded without a response")
	}
	return found, err
}

// Forget deletes old messages.
func (s SQLStore) Forget(ctx context.Context, tx *sql.Tx, before time.Time) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM "+Table+" WHERE id IN (SELECT id FROM "+Table+" WHERE received_at < "+s.dialect.first+
		" ORDER BY received_at LIMIT 1000)", before.Unix())
	return err
}
