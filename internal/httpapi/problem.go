package httpapi

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const internalMessage = "something went wrong on our side; it has been logged under the id in X-Request-Id"

// responses maps each fault code to its status and title (RFC 9110's phrases).
var responses = map[fault.Code]struct {
	status int
	title  string
}{
	fault.Internal:         {http.StatusInternalServerError, "Internal Server Error"},
	fault.Unreadable:       {http.StatusBadRequest, "Bad Request"},
	fault.Unauthorized:     {http.StatusUnauthorized, "Unauthorized"},
	fault.Forbidden:        {http.StatusForbidden, "Forbidden"},
	fault.NotFound:         {http.StatusNotFound, "Not Found"},
	fault.MethodNotAllowed: {http.StatusMethodNotAllowed, "Method Not Allowed"},
	fault.TooLarge:         {http.StatusRequestEntityTooLarge, "Content Too Large"},
	fault.UnsupportedMedia: {http.StatusUnsupportedMediaType, "Unsupported Media Type"},
	fault.Invalid:          {http.StatusUnprocessableEntity, "Unprocessable Content"},
	fault.TooMany:          {http.StatusTooManyRequests, "Too Many Requests"},
	fault.Unavailable:      {http.StatusServiceUnavailable, "Service Unavailable"},
	fault.TooSlow:          {http.StatusRequestTimeout, "Request Timeout"},
	fault.Conflict:         {http.StatusConflict, "Conflict"},
	fault.Misdirected:      {http.StatusMisdirectedRequest, "Misdirected Request"},
}

// problem responds with an error (RFC 9457).
func (s *Server) problem(c *call, id string, err error) {
	var f *fault.Error
	gone := edge.ClientGone(c.r, err)
	switch {
	case gone:
		f = fault.Unreachable(err) // the client may still read the response
		defer func() { c.status = edge.StatusClientClosedRequest }()
	case !errors.As(err, &f):
		f = &fault.Error{Code: fault.Internal, Message: internalMessage, Cause: err}
	}
	response := responses[f.Code]
	if response.status >= 500 && !gone {
		s.complaints.Log(s.Log, "request failed", response.status, "request", id, "error", err)
	}
	header := c.Header()
	switch f.Code {
	case fault.Unauthorized:
		header.Set("WWW-Authenticate", "Bearer")
	case fault.TooMany, fault.Unavailable:
		header.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(f.RetryAfter.Seconds())))))
	}
	header.Set("Content-Type", "application/problem+json")
	c.WriteHeader(response.status)
	_, _ = c.Write(appendProblem(nil, response.title, response.status, f))
}

func appendProblem(b []byte, title string, status int, f *fault.Error) []byte {
	b = append(b, `{"type":"about:blank","title":`...)
	b = rawjson.AppendText(b, title)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, `,"detail":`...)
	b = rawjson.AppendText(b, f.Message)
	if len(f.Problems) == 0 {
		return append(b, '}')
	}
	b = append(b, `,"errors":[`...)
	for i, p := range f.Problems {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"detail":`...)
		b = rawjson.AppendText(b, p.Detail)
		if p.Parameter != "" {
			b = append(b, `,"parameter":`...)
			b = rawjson.AppendText(b, p.Parameter)
		} else {
			b = append(b, `,"pointer":`...)
			b = rawjson.AppendText(b, p.Pointer)
		}
		b = append(b, '}')
	}
	b = append(b, ']')
	if f.More > 0 {
		b = append(b, `,"more":`...)
		b = strconv.AppendInt(b, int64(f.More), 10)
	}
	return append(b, '}')
}
