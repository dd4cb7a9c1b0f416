package execute

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// inlineSize limits the bytes of requests that are written before anything is
	// read. That much fits into the buffers of the connection, even if the target
	// responds without reading.
	inlineSize = 16 << 10
	// lineCost is what each line of a response's header counts for beside its bytes: a
	// short field takes much more memory than its text.
	lineCost = 128
	// lateWrite is how long a request whose response is complete may take to be
	// written to its end, for its connection to be kept.
	lateWrite = 50 * time.Millisecond
)

var (
	errLongHeader    = errors.New("the header of the response is too large")
	errInvalidField  = errors.New("a header field of the request is not valid")
	errInvalidMethod = errors.New("the method of the request is not valid")
)

// exchange is a request and its response over a connection of HTTP/1.1. All but the
// sending of a large request is done in its caller's goroutine.
type exchange struct {
	conn   *targetConn
	phases *phases
	in     *bufio.Reader
	header int64       // what the header may still have, in bytes
	stop   func() bool // ends the watch over the context
	sent   chan error  // gets the outcome of sending a large request; nil without
	unsent bool        // the request could not be written to its end
	resp   *http.Response
}

var (
	readers  = sync.Pool{New: func() any { return bufio.NewReader(nil) }}
	requests = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

// Read reads from the connection. It limits the header, which counts as it arrives: a
// target may send it slowly.
func (x *exchange) Read(p []byte) (int, error) {
	switch {
	case x.resp != nil:
		return x.conn.stream.Read(p)
	case x.header <= 0:
		return 0, errLongHeader
	}
	n, err := x.conn.stream.Read(p[:min(int64(len(p)), x.header)])
	x.header -= int64(n) + lineCost*int64(bytes.Count(p[:n], []byte{'\n'}))
	return n, err
}

// headerSize returns what a header counts for.
func headerSize(h http.Header) (n int) {
	for name, values := range h {
		for _, value := range values {
			n += len(name) + len(value) + lineCost
		}
	}
	return n
}

// begin sends a request and reads the header of its response. The caller calls end,
// also after an error. responded is called when the first byte of a response is there.
func (x *exchange) begin(req *http.Request, size int, responded func()) (*http.Response, error) {
	conn := x.conn
	x.stop = context.AfterFunc(req.Context(), func() { _ = conn.Close() })
	x.header = maxHeaderBytes
	x.in = readers.Get().(*bufio.Reader)
	x.in.Reset(x)
	if err := x.send(req, size); err != nil {
		return nil, err
	}
	x.phases.enter(job.WaitPhase)
	if _, err := x.in.Peek(1); err != nil {
		return nil, x.reason(err)
	}
	responded()
	x.phases.enter(job.ReadPhase)
	for {
		resp, err := http.ReadResponse(x.in, req)
		if err != nil && x.header <= 0 {
			err = errLongHeader // a line was cut
		}
		if err != nil {
			return nil, err
		}
		if !isInterim(resp.StatusCode) {
			x.resp = resp
			return resp, nil
		}
	}
}

// isInterim reports whether another response follows one of that status.
func isInterim(status int) bool {
	return status >= 100 && status <= 199 && status != http.StatusSwitchingProtocols
}

// send writes a request, a large one in a goroutine.
func (x *exchange) send(req *http.Request, size int) error {
	if size > inlineSize {
		x.sendLarge(req)
		return nil
	}
	buf := requests.Get().(*bytes.Buffer)
	defer requests.Put(buf)
	buf.Reset()
	if err := req.Write(buf); err != nil {
		return err
	}
	_, err := x.conn.stream.Write(buf.Bytes())
	return err
}

// sendLarge writes a request in a goroutine, for which end waits: the target may
// respond before it has read all. If it has closed the connection, its response may
// have arrived all the same, so only other errors end the reading.
func (x *exchange) sendLarge(req *http.Request) {
	conn, sent := x.conn, make(chan error, 1)
	x.sent = sent
	go func() {
		out := bufio.NewWriterSize(conn.stream, inlineSize)
		err := req.Write(out)
		if broken := out.Flush(); broken != nil {
			err = broken // net/http calls it an error of reading the body, without its cause
		}
		if err != nil && !isClosed(err) {
			_ = conn.Close()
		}
		sent <- err
	}()
}

// reason returns why there is no response: the error of sending the request, if there
// is one, rather than what the reader made of it.
func (x *exchange) reason(err error) error {
	select {
	case late := <-x.sent: // nil for a small request
		x.sent, x.unsent = nil, late != nil
		if late != nil {
			return late
		}
	default:
	}
	return err
}

// end ends the exchange, and reports whether its connection can carry another one;
// otherwise the caller closes it. whole means that the response was read to its end.
func (x *exchange) end(whole bool) bool {
	reusable := whole && !x.unsent && x.in.Buffered() == 0 &&
		!x.resp.Close && x.resp.ProtoAtLeast(1, 1) && x.resp.StatusCode >= 200
	if x.sent != nil {
		reusable = x.wait(reusable)
	}
	reusable = x.stop() && reusable
	x.in.Reset(nil)
	readers.Put(x.in)
	x.in = nil
	return reusable
}

// wait waits until the goroutine that sends the request has ended, and reports
// whether all was written. It closes the connection if that takes long, or at once if
// that is not to be reused.
func (x *exchange) wait(reusable bool) bool {
	if reusable {
		timer := time.NewTimer(lateWrite)
		defer timer.Stop()
		select {
		case err := <-x.sent:
			return err == nil
		case <-timer.C:
		}
	}
	_ = x.conn.Close()
	<-x.sent
	return false
}

// checkRequest returns an error if a request can't be sent. (*http.Request).Write
// would leave out or change the fields that can't.
func checkRequest(req *http.Request) error {
	if !httpguts.ValidHeaderFieldName(req.Method) { // a token, too
		return errInvalidMethod
	}
	for name, values := range req.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return errInvalidField
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return errInvalidField
			}
		}
	}
	return nil
}

// requestSize returns about how many bytes a request has.
func requestSize(req *http.Request) int {
	size := int(req.ContentLength) + len(req.URL.Path) + len(req.URL.RawQuery) + len(req.Host)
	for name, values := range req.Header {
		for _, value := range values {
			size += len(name) + len(value) + 4
		}
	}
	return size
}
