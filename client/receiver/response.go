package receiver

import (
	"errors"
	"net/http"
)

// errResponseTooLarge reports a response over Options.MaxResponse.
var errResponseTooLarge = errors.New("receiver: the response is larger than Options.MaxResponse")

// response is a handler's response, held back until its effect is certain, and kept
// to answer repeats.
type response struct {
	status      int
	contentType string
	body        []byte
}

func (r *response) ok() bool { return r.status >= 200 && r.status < 300 }

// repeat answers a repeat of the message.
func (r *response) repeat(w http.ResponseWriter) {
	if r.contentType != "" {
		w.Header().Set("Content-Type", r.contentType)
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body) // the sender may be gone: it comes back
}

// recorder is the ResponseWriter that handlers write to.
type recorder struct {
	header http.Header
	response
	max int
	err error
}

func newRecorder(limit int) *recorder { return &recorder{header: http.Header{}, max: limit} }

// Header returns the header of the response.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader sets the status. Informational ones are passed over.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
}

// Write keeps a part of the body.
func (r *recorder) Write(part []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if len(r.body)+len(part) > r.max {
		r.err = errResponseTooLarge
		return 0, r.err
	}
	r.body = append(r.body, part...)
	return len(part), nil
}

// finish returns the response when the handler has returned.
func (r *recorder) finish() (*response, error) {
	r.WriteHeader(http.StatusOK)
	r.contentType = r.header.Get("Content-Type")
	if r.contentType == "" && len(r.body) > 0 {
		r.contentType = http.DetectContentType(r.body)
	}
	kept := r.response
	return &kept, r.err
}

// send answers with all that the handler set.
func (r *recorder) send(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	r.repeat(w)
}
