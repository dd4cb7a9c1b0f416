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

// RequestID takes over the id that a proxy gave a request in X-Request-Id, of up
// to 64 letters, digits, dots, dashes and underscores, or makes one.
func RequestID(r *http.Request) string {
	given := r.Header.Get("X-Request-Id")
	if given != "" && len(given) <= 64 && strings.Trim(given, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") == "" {
		return given
	}
	return uuid.NewString()
}

// Allow gives the Allow header of a path that answers these methods (RFC 9110,
// section 10.2.1). What answers GET answers HEAD.
func Allow(methods iter.Seq[string]) string {
	all := slices.Sorted(methods)
	if slices.Contains(all, http.MethodGet) {
		all = append(all, http.MethodHead)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// StatusClientClosedRequest is what a call counts as whose client went away before there was an
// answer. No client gets it; the number is the one that nginx uses.
const StatusClientClosedRequest = 499

// Left reports whether an error says no more than that the client went away: it
// ends what is under way for it, which then looks like a store out of reach.
func ClientGone(r *http.Request, err error) bool {
	var f *fault.Error
	return r.Context().Err() != nil && (!errors.As(err, &f) || f.Code == fault.Unavailable)
}

// patience is how long a client may take to read a part of a file of logs.
const patience = 30 * time.Second

// WriteLogs answers with a file of logs, a line of JSON each, as walk hands them
// over. The error is walk's, or that of a client that went away: whether something
// has been written by then is for w to know.
func WriteLogs(w http.ResponseWriter, r *http.Request, walk func(part func([]*job.Log) error) error) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // it would end the call, as if the client had gone away
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

// errHead ends a walk of which only the header is asked for.
var errHead = errors.New("only the header is asked for")
