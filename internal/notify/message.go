package notify

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// The types of messages.
const (
	Failed    = "alert.failed"
	Recovered = "alert.recovered"
	Late      = "alert.late"
	Skipped   = "alert.skipped"
	Ended     = "alert.ended"
	Merged    = "alert.merged" // several messages in one
	Test      = "alert.test"
)

// Message is what an alert reports.
type Message struct {
	Type     string
	At       time.Time
	Alert    string    // its name
	Account  uuid.UUID // uuid.Nil: not shown
	Schedule uuid.UUID // uuid.Nil for a one-off job
	Job      int64     // the integer id; 0 for none
	Failures int       // in a row
	Detail   Detail
	// Merged counts the messages that this one stands for by type; for Merged.
	Merged map[string]int
	// Unsent is how many e-mails the account's limit has suppressed; only e-mails
	// show it.
	Unsent int
	// Link is where the job is shown; "" if that is not known.
	Link string
}

// Error is why an attempt failed.
type Error struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Detail describes the job and its last attempt. It never has request headers or
// bodies.
type Detail struct {
	Name    string `json:"name,omitempty"`   // of the job; not shown to webhooks
	Status  *int   `json:"status"`           // of the response; nil if there was none
	Error   *Error `json:"error"`            // nil if the attempt succeeded
	Excerpt string `json:"excerpt"`          // the beginning of the response's body
	URL     string `json:"url"`              // of the job
	Reason  string `json:"reason,omitempty"` // why the schedule has ended; for Ended
}

const (
	// MaxExcerpt is how much of a response's body is shown, in bytes.
	MaxExcerpt = 300
	// MaxError is how much of an error's message is shown, in bytes.
	MaxError = 500
)

// encode returns the JSON of a value that can always be encoded, without HTML
// escapes.
func encode(v any) rawjson.Value {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // can't happen: only strings, numbers and times
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
