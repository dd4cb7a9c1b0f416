package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// unsentError says that a transaction's commit never reached the server.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

func unsent(err error) error { return unsentError{err} }

// code gives the SQLSTATE of what the server answered; "" when it did not.
func code(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// passes reports whether a transaction failed in a way that repeating it
// mends, and did certainly not take effect.
func passes(err error) bool {
	if errors.Is(err, errAgain) {
		return true
	}
	switch code(err) {
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock not available
		return true
	case "":
		var never unsentError
		return errors.As(err, &never) || pgconn.SafeToRetry(err)
	default:
		return ends(code(err))
	}
}

// ends reports whether a SQLSTATE says that the server ended the connection or
// takes no writes: what was not committed before is gone, and another
// connection may lead to a server that does.
func ends(state string) bool {
	switch state {
	case "25006", "25P03", // read only; idle in a transaction for too long
		"57P01", "57P02", "57P03", // shutting down, crashed, starting
		"53300": // too many connections
		return true
	}
	return strings.HasPrefix(state, "08") // connection exceptions; PgBouncer's among them
}

// broken reports whether an error is of the connection, not of what was asked.
func broken(err error) bool {
	if c := code(err); c != "" {
		return ends(c)
	}
	return errors.Is(err, errUnknown)
}

// wrap makes faults of errors that say the database can't be used right now.
func (s *Store) wrap(ctx context.Context, err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	state := code(err)
	switch {
	case errors.Is(err, errUnknown):
		return unknown(err)
	case errors.Is(err, errPanicked), refuses(state):
		return store.Unstorable(err)
	case ctx.Err() != nil, errors.Is(err, errAgain), passes(err), ends(state):
		return fault.Unreachable(errors.Join(ctx.Err(), err))
	case strings.HasPrefix(state, "53"), strings.HasPrefix(state, "57"), strings.HasPrefix(state, "58"), strings.HasPrefix(state, "XX"):
		return fault.Unreachable(err) // out of resources, intervention, system errors, damage
	case state == "" && pgconn.Timeout(err):
		return fault.Unreachable(err)
	}
	return err
}

// errPanicked marks a transaction whose decisions panicked.
var errPanicked = errors.New("the transaction panicked")

// refuses reports whether a SQLSTATE says that the server does not take a value:
// data exceptions, violated constraints, and limits such as the size of a field.
func refuses(state string) bool {
	return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23") || strings.HasPrefix(state, "54")
}

// unknown is the fault for what may or may not have been done.
func unknown(err error) error {
	return &fault.Error{
		Code:       fault.Unavailable,
		Message:    "the store did not answer, so it is not known whether this was done; look, or try again with the same idempotency key",
		RetryAfter: time.Second, Cause: err,
	}
}
