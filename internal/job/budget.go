package job

import "strconv"

// The budget of an outgoing request: how large its parts may be, in bytes.
const (
	MaxRequestURL     = 16 << 10 // the URL with its whole query
	MaxRequestHeaders = 64 << 10 // the job's own fields as sent: name, value and four bytes each
	MaxRequestBody    = 2 << 20
	// MaxRequestQuery bounds a query that is an object, as JSON. Nulls and empty
	// objects take room there that they don't take in the URL.
	MaxRequestQuery = 64 << 10
)

// MaxQueryDepth is how deep a query may nest.
const MaxQueryDepth = 64

// OversizeError is returned by Render for a request that would exceed the budget.
type OversizeError struct {
	Field string // what makes the request too large: "query", "headers" or "body"
	what  string // with an article, as in "the body"
	limit int
}

func (e *OversizeError) Error() string {
	return e.what + " would be larger than " + strconv.Itoa(e.limit) + " bytes"
}

func tooLarge(field, what string, limit int) error {
	return &OversizeError{Field: field, what: what, limit: limit}
}

// bounded is a text that never takes more than most bytes of memory, however
// much is added. Once something did not fit, it takes nothing any more.
type bounded struct {
	b    []byte
	most int
	over bool
}

// add appends text, whole or not at all.
func add[T ~string | ~[]byte](o *bounded, text T) {
	if o.over || len(text) > o.room() {
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

// room returns how many bytes more fit.
func (o *bounded) room() int { return o.most - len(o.b) }

// result returns the text; nil when something did not fit.
func (o *bounded) result() []byte {
	if o.over {
		return nil
	}
	return o.b
}
