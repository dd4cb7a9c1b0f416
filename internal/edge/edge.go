package edge

import (
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// RequestID returns the request's X-Request-Id if it consists of 1 to 64 letters,
// digits, dots, dashes and underscores, or else a new id.
func RequestID(r *http.Request) string {
	given := r.Header.Get("X-Request-Id")
	if given != "" && len(given) <= 64 && strings.Trim(given, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") == "" {
		return given
	}
	return uuid.NewString()
}

// Allow returns the Allow header of a path that supports these methods (RFC 9110,
// section 10.2.1). A path that supports GET also supports HEAD.
func Allow(methods iter.Seq[string]) string {
	all := slices.Sorted(methods)
	if slices.Contains(all, http.MethodGet) {
		all = append(all, http.MethodHead)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// StatusClientClosedRequest is the status recorded for a call whose client closed
// the connection before the response. It is never sent; nginx uses the same number.
const StatusClientClosedRequest = 499

// ClientGone reports whether an error only means that the client closed the
// connection. That cancels the request's context, and the resulting error looks as
// if the store were unreachable.
func ClientGone(r *http.Request, err error) bool {
	var f *fault.Error
	return r.Context().Err() != nil && (!errors.As(err, &f) || f.Code == fault.Unavailable)
}

// patience is how long a client may take to read a part of a file of logs.
const patience = 30 * time.Second

// WriteLogs responds with a file of the logs that walk passes to part, one line of
// JSON each. It returns walk's error, or a write error if the client is gone; the
// caller must track in w whether anything was written.
func WriteLogs(w http.ResponseWriter, r *http.Request, walk func(part func([]*job.Log) error) error) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // else the deadline would cancel the request's context
	const piece = 64 << 10
	b := make([]byte, 0, piece)
	write := func() error {
		_, err := w.Write(b)
		b = b[:0]
		return err
	}
	err := walk(func(logs []*job.Log) error {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Content-Disposition", `attachment; filename="logs.ndjson"`)
		if r.Method == http.MethodHead {
			return errHead
		}
		if err := control.SetWriteDeadline(time.Now().Add(patience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		for _, l := range logs {
			if b = append(job.AppendLog(b, l), '\n'); len(b) < piece {
				continue
			}
			if err := write(); err != nil {
				return err
			}
		}
		if err := write(); err != nil {
			return err
		}
		return control.Flush()
	})
	if err == errHead {
		return nil
	}
	return err
}

// errHead ends the walk of a HEAD request.
var errHead = errors.New("only the header is requested")
