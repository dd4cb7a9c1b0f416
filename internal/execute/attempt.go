package execute

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
)

const (
	maxRedirects = 5
	maxDrain     = 64 << 10 // bytes of a redirect's body read to keep its connection
)

// attempt is the state of one attempt from hop to hop.
type attempt struct {
	client   *Client
	req      *Request
	deadline time.Time // zero when there is none

	// The next hop, or the one under way.
	url    *url.URL
	method string
	body   []byte // nil when there is none

	bodyGone   bool // a redirect turned the request into a GET without a body
	foreign    bool // a redirect led to another origin
	redirected bool // a redirect was followed
	reading    bool // the final response's header has arrived, its body is being read

	stop context.CancelCauseFunc // set if there is req.Leave

	phases    phases
	hop       hop         // the connection in use
	wrote     bool        // a byte of any hop may have left
	responded atomic.Bool // the first byte of a response has arrived
}

// run sends the request, follows redirects and reads the final response.
func (a *attempt) run(ctx context.Context) (*job.Response, error) {
	var err error
	if a.url, err = parseURL(a.req.URL); err != nil {
		return nil, err
	}
	for hops := 0; ; hops++ {
		resp, err := a.send(ctx)
		if err != nil {
			return nil, err
		}
		location := resp.Header.Get("Location")
		if !a.req.FollowRedirects || !isRedirect(resp.StatusCode) || location == "" {
			a.reading = true
			return readResponse(ctx, resp)
		}
		drain(resp.Body)
		if hops == maxRedirects {
			return nil, errTooManyRedirects
		}
		if err := a.follow(resp.StatusCode, location); err != nil {
			return nil, err
		}
	}
}

// send sends one hop. The caller closes the response's body.
func (a *attempt) send(ctx context.Context) (*http.Response, error) {
	if err := a.client.targets.checkURL(a.url); err != nil {
		return nil, err // a kept connection must not bypass a new block
	}
	resp, err := a.sendVia(ctx)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close() // what follows is not HTTP and may never end
		return nil, errSwitched
	}
	if resp.StatusCode < 100 || resp.StatusCode > 999 { // net/http also takes "000", "+20" and others
		resp.Body.Close()
		return nil, errStatus
	}
	return resp, nil
}

// sendVia sends one hop over whatever carries it.
func (a *attempt) sendVia(ctx context.Context) (*http.Response, error) {
	if a.toListener() {
		req, err := a.request(ctx)
		if err != nil {
			return nil, err
		}
		a.phases.enter(job.WaitPhase)
		defer a.phases.enter(job.ReadPhase)
		return a.ask(req)
	}
	to := a.route()
	known := !to.plain && a.client.only2.has(to.to)
	if !known {
		resp, err := a.exchange(ctx, to)
		if to.plain || err != errHTTP2 && !refusesVersion(err) {
			return resp, err
		}
	}
	resp, err := a.exchangeHTTP2(ctx, to)
	if known && refusesVersion(err) { // openHTTP2 has forgotten that it spoke HTTP/2
		return a.exchange(ctx, to)
	}
	return resp, err
}

// maxTries limits how often a connection is replaced because it ended before a byte of
// the request was written. After that it is a new one.
const maxTries = 3

// which returns the connections that the next hop may use.
func (a *attempt) which(tries int) choice {
	switch {
	case tries > maxTries:
		return newConn
	case a.req.Recent:
		return recentConn
	}
	return anyConn
}

// exchange sends a request over HTTP/1.1. A request of which a byte may have been
// written is never sent again.
func (a *attempt) exchange(ctx context.Context, to route) (*http.Response, error) {
	for tries := 0; ; tries++ {
		req, err := a.request(ctx)
		if err != nil {
			return nil, err
		}
		made := present()
		a.phases.enter(job.ConnectPhase)
		conn, kept, err := a.client.connection(ctx, to, a.which(tries))
		if err != nil {
			return nil, err
		}
		if a.phases.enter(job.SendPhase); !kept {
			a.phases.took(conn)
		}
		req, waited, err := a.mayLeave(ctx, req, made)
		if err != nil {
			a.client.conns.back(conn)
			return nil, err
		}
		if kept && waited && !a.stillGood(conn) {
			continue
		}
		a.hop.take(conn)
		before := conn.sent.Load()
		x := &exchange{conn: conn, phases: &a.phases}
		resp, err := x.begin(req, requestSize(req), func() { a.responded.Store(true) })
		if err == nil {
			a.wrote = true
			resp.Body = newResponseBody(resp, &a.hop, x)
			return resp, nil
		}
		x.end(false)
		a.hop.leave(true)
		wrote := conn.sent.Load() > before
		a.wrote = a.wrote || wrote
		if wrote || !kept || ctx.Err() != nil {
			return nil, a.unanswered(err, kept)
		}
	}
}

// stillGood reports whether a kept connection may carry the request after some time
// during which nothing was read from it. It closes one that may not.
func (a *attempt) stillGood(conn *targetConn) bool {
	if conn.quiet() && (!a.req.Recent || a.client.conns.stillRecent(conn)) {
		return true
	}
	_ = conn.Close()
	return false
}

// exchangeHTTP2 sends a request over HTTP/2. One that a target has refused to process
// has left this machine all the same, so it is not sent again either.
func (a *attempt) exchangeHTTP2(ctx context.Context, to route) (*http.Response, error) {
	pool := a.client.http2
	for tries := 0; ; tries++ {
		req, err := a.request(ctx)
		if err != nil {
			return nil, err
		}
		made := present()
		a.phases.enter(job.ConnectPhase)
		conn, kept, err := pool.connection(ctx, to, a.which(tries))
		if err != nil {
			return nil, err
		}
		if a.phases.enter(job.SendPhase); !kept {
			a.phases.took(conn.raw)
		}
		req, waited, err := a.mayLeave(ctx, req, made)
		switch {
		case err != nil:
			pool.release(conn)
			return nil, err
		case waited && a.req.Recent && !conn.raw.usedLately(), !conn.mayBegin():
			pool.release(conn)
			if err := calm(ctx, tries-maxTries); err != nil {
				return nil, err
			}
			continue
		}
		a.hop.take(conn.raw)
		w := &writing{begun: sync.OnceFunc(conn.begun)}
		a.phases.enter(job.WaitPhase)
		resp, err := conn.RoundTrip(req.WithContext(a.traced(ctx, w)))
		w.begun()
		a.wrote = a.wrote || err == nil || w.wrote.Load()
		if err == nil {
			a.phases.enter(job.ReadPhase)
			resp.Body = newResponseBody(resp, &a.hop, nil)
			if headerSize(resp.Header) > maxHeaderBytes {
				resp.Body.Close()
				return nil, errLongHeader
			}
			return resp, nil
		}
		a.hop.leave(true)
		if w.wrote.Load() || !kept && tries > maxTries || ctx.Err() != nil {
			return nil, a.unanswered(err, kept)
		}
	}
}

// calm waits before a request looks for a connection for the nth time: a target that
// permits no request on any would make it open one after the other.
func calm(ctx context.Context, n int) error {
	if n <= 0 {
		return nil
	}
	pause.For(ctx, min(10*time.Millisecond<<min(n, 7), time.Second))
	return ctx.Err()
}

// longWait is how long the question whether a request may be sent takes at most for
// what is known of its connection to hold, and longMaking how long ago the request may
// have been made, and how long that may take after the question. Tests on slow machines
// raise them.
var longWait, longMaking = time.Millisecond, 100 * time.Millisecond

// mayLeave returns the request as it is to be sent, or an error if it may not be sent any
// more. made is when it was made. It is made again if that was long ago, and after a
// question that took long or changed its fields. Its values may have to be stored for that,
// which takes long while the store is slow: the question is asked again then. waited is
// whether it took long to find out.
func (a *attempt) mayLeave(ctx context.Context, req *http.Request, made moment) (_ *http.Request, waited bool, err error) {
	for {
		if made.age() > longMaking {
			if req, err = a.request(ctx); err != nil {
				return nil, waited, err
			}
		}
		own, asked := slices.Clone(a.req.Own), present()
		switch {
		case ctx.Err() != nil:
			return nil, waited, ctx.Err()
		case !a.leave():
			return nil, waited, errTooLate
		}
		a.responded.Store(false)
		waited = waited || asked.age() > longWait
		if !waited && slices.Equal(own, a.req.Own) {
			return req, false, nil
		}
		began := present()
		if req, err = a.request(ctx); err != nil {
			return nil, waited, err
		}
		if made = present(); began.age() <= longMaking {
			return req, waited, nil
		}
	}
}

// droppedError means that a connection that was open before the request was closed
// before the first byte of a response.
type droppedError struct{ err error }

func (e *droppedError) Error() string { return e.err.Error() }
func (e *droppedError) Unwrap() error { return e.err }

// unanswered returns the error of a request without a response. kept is whether its
// connection was open before.
func (a *attempt) unanswered(err error, kept bool) error {
	if kept && !a.responded.Load() {
		return &droppedError{err}
	}
	return err
}

// writing is what net/http reports of a request over HTTP/2 that it writes.
type writing struct {
	wrote atomic.Bool // a byte may have left
	begun func()      // called when the request has its stream
}

// traced returns a context through which net/http reports that it writes the request,
// and the first byte of a response.
func (a *attempt) traced(ctx context.Context, w *writing) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaderField: func(string, []string) { // to a buffer, before any byte is sent
			w.wrote.Store(true)
			w.begun()
		},
		GotFirstResponseByte: func() { a.responded.Store(true) },
	})
}

// errTooLate is the cause with which an attempt ends that may not be sent any
// more.
var errTooLate = errors.New("the request may not be sent any more")

// leave asks whether the request may be sent now. Each hop asks, and each connection
// that replaces another: time passes between them.
func (a *attempt) leave() bool {
	if a.req.Leave == nil || a.req.Leave() {
		return true
	}
	a.stop(errTooLate)
	return false
}

// request returns the request of the next hop, or why it can't be sent. It is made again
// after a wait, so that its time and its fields are those of when it is sent.
func (a *attempt) request(ctx context.Context) (*http.Request, error) {
	req := new(http.Request).WithContext(ctx)
	req.Method = a.method
	req.URL = a.url
	req.Host = a.url.Host
	req.Proto, req.ProtoMajor, req.ProtoMinor = "HTTP/1.1", 1, 1
	req.Header = a.header(time.Now())
	if body := a.body; len(body) > 0 {
		// Only with this pair of types does net/http know that the body is in
		// memory and can be sent together with the header.
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.ContentLength = int64(len(body))
	}
	if authorize := a.req.Authorize; authorize != nil && !a.foreign {
		if failure := authorize(req, a.body); failure != nil {
			return nil, &knownError{failure}
		}
	}
	return req, checkRequest(req)
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow prepares the next hop (RFC 9110, section 15.4).
func (a *attempt) follow(status int, location string) error {
	next, err := resolve(a.url, location)
	if err != nil {
		return err
	}
	if job.ToListener(next) && !a.toListener() {
		return errOwnListener
	}
	switch status {
	case http.StatusMovedPermanently, http.StatusFound:
		if a.method == http.MethodPost {
			a.becomeGet()
		}
	case http.StatusSeeOther:
		if a.method != http.MethodGet && a.method != http.MethodHead {
			a.becomeGet()
		}
	}
	a.foreign, a.redirected = a.foreign || !sameOrigin(a.url, next), true
	a.url = next
	return nil
}

func (a *attempt) becomeGet() {
	a.method = http.MethodGet
	a.body = nil
	a.bodyGone = true
}

// resolve parses a redirect's Location, relative to the URL that sent it.
func resolve(base *url.URL, location string) (*url.URL, error) {
	ref, err := url.Parse(sendable(location))
	if err != nil {
		return nil, &redirectError{"the target redirected to an address that is not a URL"}
	}
	next := base.ResolveReference(ref)
	switch {
	case next.Scheme != "https" && (next.Scheme != "http" || base.Scheme != "http"):
		return nil, &redirectError{"the target redirected to an address that does not use https"}
	case next.Host == "":
		return nil, &redirectError{"the target redirected to an address without a host"}
	case next.User != nil:
		return nil, &redirectError{"the target redirected to an address with user info, which is not followed"}
	}
	next.Host = strings.TrimSuffix(next.Host, ":")
	return next, nil
}

// drain reads up to maxDrain bytes of a body that is not needed, so that its
// connection can be reused.
func drain(body io.ReadCloser) {
	io.CopyN(io.Discard, body, maxDrain)
	body.Close()
}
