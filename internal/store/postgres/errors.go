package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// unsentError marks the error of a transaction whose commit was not sent.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

func unsent(err error) error { return unsentError{err} }

// localError marks an error that neither the server nor the connection caused: an
// argument that can't be encoded, or a row that can't be read. A retry fails again.
type localError struct {
	error
	sent bool // the statements were sent, so that a commit among them has an effect
}

func (e localError) Unwrap() error { return e.error }

// encoding marks the error of the first result of a batch as local if pgx could not
// encode the batch. It has sent nothing of it then.
func encoding(err error) error {
	if code(err) != "" || ofConnection(err) {
		return err
	}
	return localError{err, false}
}

// decoding marks the error of reading a row as local, unless it is meant for the caller.
func decoding(err error) error {
	if errors.Is(err, errRetry) || errors.As(err, new(*fault.Error)) {
		return err
	}
	return localError{err, true}
}

// ofConnection reports whether an error without SQLSTATE is a network error, a timeout,
// or of a connection that was closed.
func ofConnection(err error) bool {
	var network net.Error
	if pgconn.SafeToRetry(err) || pgconn.Timeout(err) || errors.As(err, &network) || errors.As(err, new(*pgconn.ConnectError)) {
		return true
	}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		pgconn.ErrConnClosed} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// code returns the SQLSTATE of the server's error; "" if it did not respond.
func code(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// passes reports whether a failed transaction had no effect and may succeed if
// retried.
func passes(err error) bool {
	if errors.Is(err, errRetry) {
		return true
	}
	switch code(err) {
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock not available
		return true
	case "":
		if errors.As(err, new(localError)) {
			return false
		}
		return errors.As(err, new(unsentError)) || pgconn.SafeToRetry(err)
	default:
		return ends(code(err))
	}
}

// ends reports whether a SQLSTATE means that the server closed the connection or
// accepts no writes. Uncommitted changes are lost then, and a new connection may
// reach a server that accepts writes.
func ends(state string) bool {
	switch state {
	case "25006", "25P03", // read only; idle in a transaction for too long
		"57P01", "57P02", "57P03", // shutting down, crashed, starting
		"53300": // too many connections
		return true
	}
	return strings.HasPrefix(state, "08") // connection exceptions, including PgBouncer's
}

// broken reports whether an error concerns the connection, not the statement.
func broken(err error) bool {
	if c := code(err); c != "" {
		return ends(c)
	}
	return errors.Is(err, errUnknown)
}

// wrap turns errors that mean the database can't be used now into faults.
func (s *Store) wrap(ctx context.Context, err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	state := code(err)
	switch {
	case errors.Is(err, errUnknown):
		return unknown(err)
	case errors.As(err, new(*fault.PanicError)), errors.As(err, new(localError)), refuses(state):
		return store.Unstorable(err)
	case errors.Is(context.Cause(ctx), errDown):
		return fault.Unreachable(context.Cause(ctx)) // err says only that the call was cancelled
	case ctx.Err() != nil, errors.Is(err, errRetry), passes(err), ends(state):
		return fault.Unreachable(errors.Join(ctx.Err(), err))
	case strings.HasPrefix(state, "53"), strings.HasPrefix(state, "57"), strings.HasPrefix(state, "58"), strings.HasPrefix(state, "XX"):
		return fault.Unreachable(err) // out of resources, intervention, system error, corruption
	case state == "" && pgconn.Timeout(err):
		return fault.Unreachable(err)
	}
	return err
}

// refuses reports whether a SQLSTATE means that the server rejects a value: a
// data exception, a violated constraint or a limit such as the size of a field.
func refuses(state string) bool {
	return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23") || strings.HasPrefix(state, "54")
}

// unknown returns the fault for a write that may or may not have taken effect.
func unknown(err error) error {
	return &fault.Error{
		Code:       fault.Unavailable,
		Message:    "the store did not respond, so it is not known whether this was done; look, or try again with the same idempotency key",
		RetryAfter: time.Second, Cause: err,
	}
}
