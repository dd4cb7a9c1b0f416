package httpapi

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const internalMessage = "something went wrong on our side; it has been logged under the id in X-Request-Id"

// responses has the status, the title (the phrase of RFC 9110) and the code of each kind
// of problem.
// Codes are stable: clients may compare them.
var responses = map[fault.Code]struct {
	status int
	title  string
	code   string
}{
	fault.Internal:            {http.StatusInternalServerError, "Internal Server Error", "internal"},
	fault.Unreadable:          {http.StatusBadRequest, "Bad Request", "unreadable_body"},
	fault.Unauthorized:        {http.StatusUnauthorized, "Unauthorized", "unauthorized"},
	fault.Forbidden:           {http.StatusForbidden, "Forbidden", "forbidden"},
	fault.NotFound:            {http.StatusNotFound, "Not Found", "not_found"},
	fault.MethodNotAllowed:    {http.StatusMethodNotAllowed, "Method Not Allowed", "method_not_allowed"},
	fault.TooSlow:             {http.StatusRequestTimeout, "Request Timeout", "body_too_slow"},
	fault.Conflict:            {http.StatusConflict, "Conflict", "conflict"},
	fault.Gone:                {http.StatusGone, "Gone", "gone"},
	fault.Stale:               {http.StatusPreconditionFailed, "Precondition Failed", "stale_revision"},
	fault.TooLarge:            {http.StatusRequestEntityTooLarge, "Content Too Large", "body_too_large"},
	fault.UnsupportedMedia:    {http.StatusUnsupportedMediaType, "Unsupported Media Type", "unsupported_media_type"},
	fault.Misdirected:         {http.StatusMisdirectedRequest, "Misdirected Request", "misdirected"},
	fault.Invalid:             {http.StatusUnprocessableEntity, "Unprocessable Content", "invalid_request"},
	fault.TooMany:             {http.StatusTooManyRequests, "Too Many Requests", "rate_limited"},
	fault.HeaderTooLarge:      {http.StatusRequestHeaderFieldsTooLarge, "Request Header Fields Too Large", "header_too_large"},
	fault.Unexpected:          {http.StatusExpectationFailed, "Expectation Failed", "expectation_failed"},
	fault.NotImplemented:      {http.StatusNotImplemented, "Not Implemented", "not_implemented"},
	fault.VersionNotSupported: {http.StatusHTTPVersionNotSupported, "HTTP Version Not Supported", "version_not_supported"},
	fault.Unavailable:         {http.StatusServiceUnavailable, "Service Unavailable", "unavailable"},
}

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
	if (f.Code == fault.Internal || f.Code == fault.Unavailable) && !gone {
		s.complaints.Log(s.Log, "request failed", response.status, "request", id, "error", err)
	}
	challenge(c.Header(), f)
	WriteProblem(c, f)
}

// challenge sets the headers that go with an error.
func challenge(header http.Header, f *fault.Error) {
	switch f.Code {
	case fault.Unauthorized:
		header.Set("WWW-Authenticate", "Bearer")
	case fault.TooMany, fault.Unavailable:
		header.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(f.RetryAfter.Seconds())))))
	}
}

// WriteProblem responds with problem details (RFC 9457).
func WriteProblem(w http.ResponseWriter, f *fault.Error) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(responses[f.Code].status)
	_, _ = w.Write(appendProblem(nil, f))
}

// appendProblem appends f as problem details (RFC 9457).
func appendProblem(b []byte, f *fault.Error) []byte {
	response := responses[f.Code]
	b = append(b, `{"type":"about:blank","code":`...)
	b = rawjson.AppendText(b, cmp.Or(f.Reason, response.code))
	b = append(b, `,"title":`...)
	b = rawjson.AppendText(b, response.title)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(response.status), 10)
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
