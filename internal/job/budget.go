package job

import (
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
)

// The budget of an outgoing request: the largest size of its parts, in bytes.
const (
	MaxRequestURL     = 16 << 10 // the URL with its whole query
	MaxRequestHeaders = 64 << 10 // the job's own fields as sent: name, value and four bytes each
	MaxRequestBody    = 2 << 20
	// MaxRequestQuery is the largest size of an object query, as JSON. It exceeds
	// MaxRequestURL because nulls and empty objects take space only in the JSON.
	MaxRequestQuery = 64 << 10
)

// MaxQueryDepth is how deep a query may nest.
const MaxQueryDepth = 64

// OversizeError is returned by Render for a request that would exceed the budget.
type OversizeError struct {
	Field string // the part that is too large: "query", "headers" or "body"
	what  string // with an article, as in "the body"
	limit int
}

func (e *OversizeError) Error() string {
	return e.what + " would be larger than " + strconv.Itoa(e.limit) + " bytes"
}

func tooLarge(field, what string, limit int) error {
	return &OversizeError{Field: field, what: what, limit: limit}
}

// bounded is a text of at most most bytes. Once an addition does not fit, it
// accepts no more.
type bounded struct {
	b    []byte
	most int
	over bool
}

// add appends all of text or none of it.
func add[T ~string | ~[]byte](o *bounded, text T) {
	if o.over || len(text) > o.remaining() {
		o.over = true
		return
	}
	if need := len(o.b) + len(text); need > cap(o.b) {
		grown := make([]byte, len(o.b), min(o.most, max(2*cap(o.b), need)))
		copy(grown, o.b)
		o.b = grown
	}
	o.b = append(o.b, text...)
}

// remaining returns how many more bytes fit.
func (o *bounded) remaining() int { return o.most - len(o.b) }

// result returns the text, or nil if an addition did not fit.
func (o *bounded) result() []byte {
	if o.over {
		return nil
	}
	return o.b
}

// MaxRequest is the largest size of a request to create or change a job, in bytes.
const MaxRequest = 1 << 20

// TooLarge returns the fault for an item of a call that is larger than MaxRequest.
func TooLarge() error {
	return fault.Refuse([]fault.Problem{{Pointer: "#", Detail: "must have at most 1 MiB, as a request of its own"}})
}
