package edge

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

// errCrowded is what a connection without room is answered with.
var errCrowded = &fault.Error{
	Code: fault.Unavailable, Message: "the service has too many connections open; use fewer, and try again shortly",
	RetryAfter: time.Second,
}

// errHeader is what a header over the limits is answered with.
var errHeader = fault.New(fault.HeaderTooLarge, "the address and the headers are too large: together at most "+
	strconv.Itoa(maxHeaderBytes>>10)+
	" KiB and "+strconv.Itoa(maxHeaderLines)+" headers; send long values in the body")

// misread returns the fault for a response that net/http writes itself, because what
// arrived is no request that a handler could be called for; nil if the text is another
// response.
func misread(text []byte) error {
	line, _, _ := bytes.Cut(text, []byte("\r\n"))
	version, rest, _ := strings.Cut(string(line), " ")
	number, phrase, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(number)
	if err != nil || status < 400 || !strings.HasPrefix(version, "HTTP/1.") {
		return nil
	}
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		return errHeader
	case http.StatusExpectationFailed:
		return fault.New(fault.Unexpected, "the header Expect may only be 100-continue; leave it out")
	case http.StatusNotImplemented:
		return fault.New(fault.NotImplemented, "the only Transfer-Encoding is chunked; send the body so, or with a Content-Length")
	case http.StatusHTTPVersionNotSupported:
		return fault.New(fault.VersionNotSupported, "send the request as HTTP/1.1")
	}
	what := "check its first line and its headers, and percent-encode the address"
	if _, reason, ok := strings.Cut(phrase, ": "); ok {
		what = reason
	}
	return &fault.Error{Code: fault.Unreadable, Reason: "unreadable_request", Message: "the request can't be read: " + what}
}

// render returns the response to send for an error on a connection without a request.
func (s *Server) render(err error) []byte {
	w := &rendered{header: http.Header{}, status: http.StatusOK}
	s.config.Refuse(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Header: http.Header{}}, err)
	response := http.Response{
		ProtoMajor: 1, ProtoMinor: 1, StatusCode: w.status, Header: w.header, Close: true,
		ContentLength: int64(w.body.Len()), Body: io.NopCloser(&w.body),
	}
	var text bytes.Buffer
	_ = response.Write(&text) // a buffer takes everything
	return text.Bytes()
}

// rendered is a response in memory.
type rendered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *rendered) Header() http.Header         { return r.header }
func (r *rendered) WriteHeader(status int)      { r.status = status }
func (r *rendered) Write(p []byte) (int, error) { return r.body.Write(p) }
