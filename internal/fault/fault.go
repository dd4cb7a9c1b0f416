package fault

import (
	"errors"
	"strings"
	"time"
)

// Code is the kind of an error.
type Code int

const (
	Internal            Code = iota // a defect or an unexpected failure of ours
	Unreadable                      // the request body could not be read
	Unauthorized                    // no credentials, or wrong ones
	NotFound                        // no such record or route for this caller
	MethodNotAllowed                // the route exists, the method does not
	TooLarge                        // the request body is over the limit
	UnsupportedMedia                // the request body has another media type
	Invalid                         // readable, but not acceptable
	TooMany                         // over a rate limit
	Forbidden                       // known, but not permitted
	Unavailable                     // the store or the queue can't take it now
	TooSlow                         // the request body arrived too slowly
	Misdirected                     // the request is for another host
	Conflict                        // in conflict with another record, which Message names
	Gone                            // what the call refers to is over
	Stale                           // If-Match names another revision
	HeaderTooLarge                  // the address or the headers are over the limit
	Unexpected                      // the header Expect can't be met
	NotImplemented                  // the body's transfer coding is not known
	VersionNotSupported             // of HTTP
)

// Overlapping is the Reason of TooMany when too much of the caller is under way
// at the same time, rather than in a second.
const Overlapping = "too_much_at_once"

// Problem is one problem of a request. Exactly one of Pointer and Parameter is set.
type Problem struct {
	// Detail completes the sentence "FIELD …", as in "must use https".
	Detail string
	// Pointer is a JSON pointer (RFC 6901) into the body, as a URI fragment: "#/url".
	Pointer string
	// Parameter is the name of a query parameter.
	Parameter string
}

// Error is an error that may be shown to a person.
type Error struct {
	Code Code
	// Reason is the code in the response if it is finer than Code, such as
	// "quota_exceeded"; else "".
	Reason string
	// Message is a sentence that says what to do, safe to show to anyone.
	Message string
	// Problems lists everything found wrong, for Invalid, and what is not there,
	// for NotFound; the first MaxProblems.
	Problems []Problem
	// More is how many further problems were found.
	More int
	// RetryAfter is how long to wait before trying again, for TooMany and Unavailable.
	RetryAfter time.Duration
	// Cause is for the log, never for the caller.
	Cause error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Cause }

// New returns a fault with a message that is safe to show.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// NoSuch returns the fault for a record that does not exist for this caller. What is
// the kind of record, such as "job".
func NoSuch(what string) *Error {
	return New(NotFound, "there is no such "+what+"; check its id and the key you use")
}

// Unreachable returns the fault for a store that can't be reached or does not
// respond; the caller may try again.
func Unreachable(cause error) *Error {
	return &Error{
		Code: Unavailable, Message: "the store can't be reached right now; nothing was changed, try again shortly",
		RetryAfter: time.Second, Cause: cause,
	}
}

// Busy returns the fault for a store that has too many reads under way to start
// another; the caller may try again.
func Busy(cause error) *Error {
	return &Error{
		Code: Unavailable, Message: "the store is busy with other calls; nothing was changed, try again shortly",
		RetryAfter: time.Second, Cause: cause,
	}
}

// SlowRead returns the fault for a read that exceeded its time limit.
func SlowRead(cause error) *Error {
	return &Error{
		Code: TooMany, Reason: "read_too_slow", RetryAfter: 10 * time.Second, Cause: cause,
		Message: "reading this takes too long; ask for less: leave out order_by and offset and follow the links to the next page, " +
			"or narrow it down by state, schedule_id, job_id, since or until",
	}
}

// Sentence says the problem with the name of what it is about in front.
func (p Problem) Sentence() string {
	name := p.Parameter
	if name == "" {
		name = strings.ReplaceAll(strings.TrimPrefix(p.Pointer, "#/"), "/", ".")
	}
	if name == "" || name == "#" {
		name = "the body"
	}
	return name + " " + p.Detail
}

// ProblemsOf returns the problems of the fault in err's chain; nil when there are none.
func ProblemsOf(err error) []Problem {
	var f *Error
	if errors.As(err, &f) {
		return f.Problems
	}
	return nil
}

// MoreOf returns how many problems the fault in err's chain has beyond those it
// lists.
func MoreOf(err error) int {
	var f *Error
	if errors.As(err, &f) {
		return f.More
	}
	return 0
}

// CodeOf returns the code of the fault in err's chain; Internal when there is none.
func CodeOf(err error) Code {
	var f *Error
	if errors.As(err, &f) {
		return f.Code
	}
	return Internal
}
