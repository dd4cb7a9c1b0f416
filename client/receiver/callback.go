package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/client"
)

// Callback is the result of a job, as its callback_url gets it.
type Callback struct {
	Job     client.JobRecord `json:"job"` // final
	Attempt int              `json:"attempt"`
	// Request is what was sent, Response the last response, as the log has them;
	// Response is nil if there was none.
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
	// Error says why the job failed, nil only on success.
	Error *client.Failure `json:"error"`
	// Result is what the target has reported after its 202; nil if nothing.
	Result json.RawMessage `json:"result"`
}

// ErrNoCallback reports a message of another kind: a job's request, an event or an
// alert.
var ErrNoCallback = errors.New("punctual: the message is no callback; its URL is for callback_url only")

// NewCallback returns a handler for a job's callback_url. It passes each callback to
// handle once, as New does. What handle returns as an error is reported to
// Options.Failed and answered with 503, which makes the service try again.
func NewCallback(handle func(context.Context, *Callback) error, options Options) (http.Handler, error) {
	options, err := options.withDefaults(24 * time.Hour)
	if err != nil {
		return nil, err
	}
	return New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		callback, err := ReadCallback(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		if err := handle(r.Context(), callback); err != nil {
			options.unavailable(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}), options)
}

// ReadCallback reads a callback in a handler of New or NewSQL, which have verified the
// message and bounded its body.
func ReadCallback(r *http.Request) (*Callback, error) {
	var message struct {
		Callback
		Type string `json:"type"`
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		return nil, fmt.Errorf("punctual: reading a callback: %w", err)
	}
	if message.Type != "" || message.Attempt == 0 || message.Job.ID == "" {
		return nil, ErrNoCallback
	}
	return &message.Callback, nil
}
