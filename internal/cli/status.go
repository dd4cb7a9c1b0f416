package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
)

// The exit statuses. They are documented in docs/guides/command-line.md and do
// not change.
const (
	statusDone        = 0
	statusFailed      = 1
	statusUsage       = 2
	statusNotFound    = 3
	statusRefused     = 4
	statusUnreachable = 5
	statusConflict    = 6
	statusTooMany     = 7
	statusUndecided   = 8
	statusInterrupted = 130
)

// failure is an error with the exit status that it ends the program with.
type failure struct {
	status int
	text   string
	cause  error // nil for none
}

// Error returns the sentence for the user.
func (f *failure) Error() string { return f.text }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

func failed(status int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &failure{status, err.Error(), errors.Unwrap(err)}
}

// exitStatus returns the status that the program ends with after an error.
func exitStatus(err error) int {
	var f *failure
	var no *refusal
	switch {
	case err == nil:
		return statusDone
	case joined(err) != nil:
		return exitStatus(joined(err)[0])
	case errors.As(err, &f):
		return f.status
	case errors.As(err, &no):
		return no.exitStatus()
	case errors.Is(err, context.Canceled):
		return statusInterrupted
	}
	switch fault.CodeOf(err) { // of commands that use the database
	case fault.NotFound:
		return statusNotFound
	case fault.Conflict:
		return statusConflict
	case fault.Unavailable:
		return statusUnreachable
	}
	return statusFailed
}

// joined returns the errors that errors.Join combined; nil if err is none of these.
func joined(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return nil
}

// exitStatus returns the exit status for the problem that the service returned.
func (r *refusal) exitStatus() int {
	switch r.status {
	case http.StatusNotFound:
		return statusNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return statusRefused
	case http.StatusConflict, http.StatusGone, http.StatusPreconditionFailed:
		return statusConflict
	case http.StatusTooManyRequests:
		return statusTooMany
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return statusUnreachable
	}
	return statusFailed
}

// hint says what to do about the problem, where its detail can't know; "" if
// there is nothing to add.
func (r *refusal) hint() string {
	switch r.status {
	case http.StatusUnauthorized:
		return "punctual login stores a key that works, and PUNCTUAL_API_KEY takes precedence over it"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if r.retryAfter != "" {
			return "try again in " + r.retryAfter + " s"
		}
	}
	return ""
}

// report prints an error: a sentence, or a problem as JSON.
func (env *environment) report(err error, asJSON bool) {
	if all := joined(err); asJSON && all != nil {
		for _, one := range all {
			env.report(one, true)
		}
		return
	}
	if !asJSON {
		_, _ = fmt.Fprintf(env.errOut, "punctual: %s\n", printableLines(sentence(err)))
		return
	}
	var no *refusal
	if errors.As(err, &no) && json.Valid(no.text) {
		_, _ = fmt.Fprintf(env.errOut, "%s\n", safeJSON(indented(no.text)))
		return
	}
	_ = printJSON(env.errOut, struct {
		Detail string `json:"detail"`
		Exit   int    `json:"exit_status"`
	}{sentence(err), exitStatus(err)})
}

// sentence returns the part of an error to show to a person.
func sentence(err error) string {
	var f *fault.Error
	var no *refusal
	switch {
	case errors.As(err, &f):
		return f.Error()
	case errors.As(err, &no) && no.hint() != "":
		return strings.TrimSuffix(err.Error(), ".") + "\n" + no.hint()
	}
	return err.Error()
}
