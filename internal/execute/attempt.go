package execute

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
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

	bodyGone bool // a redirect turned the request into a GET without a body
	foreign  bool // a redirect led to another origin
	reading  bool // the final response's header has arrived, its body is being read

	left bool                    // req.Leave has permitted the request
	stop context.CancelCauseFunc // set if there is req.Leave

	trace     httptrace.ClientTrace
	hop       hop         // the connection in use
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
		return a.ask(a.request(ctx))
	}
	if to := hostPort(a.url); a.url.Scheme == "https" && a.client.speaksHTTP1(to) {
		resp, err := a.exchange(a.request(ctx), to)
		if err == nil || !refusesVersion(err) {
			return resp, err
		}
	}
	return a.transport(a.request(a.traced(context.WithValue(ctx, attemptKey{}, a))))
}

// maxResends limits how often a request is resent because a kept connection turned out
// to be dead. After that it gets a fresh connection.
const maxResends = 3

// exchange sends a request over HTTP/1.1.
func (a *attempt) exchange(req *http.Request, to string) (*http.Response, error) {
	if err := checkRequest(req); err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		conn, kept, err := a.client.connection(req.Context(), to, tries > maxResends)
		if err != nil {
			return nil, err
		}
		a.hop.take(conn)
		if err := req.Context().Err(); err != nil {
			a.hop.leave(false)
			return nil, err
		}
		if !a.leave() {
			a.hop.leave(false)
			return nil, errTooLate
		}
		a.responded.Store(false)
		before := conn.sent.Load()
		x := &exchange{conn: conn}
		resp, err := x.begin(req, requestSize(req), func() { a.responded.Store(true) })
		if err == nil {
			resp.Body = newResponseBody(resp, &a.hop, x)
			return resp, nil
		}
		x.end(false)
		a.hop.leave(true)
		switch {
		case !kept || a.responded.Load() || req.Context().Err() != nil:
			return nil, err
		case !replayable(req) && conn.sent.Load() > before:
			return nil, err
		}
		rewind(req)
	}
}

// replayable reports whether a request may be resent although the target may have seen
// it.
func replayable(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	_, marked := req.Header[replayMark]
	_, keyed := req.Header["Idempotency-Key"]
	return marked || keyed
}

// transport sends a request over a prewarmed connection or the transport's.
func (a *attempt) transport(req *http.Request) (*http.Response, error) {
	if conn := a.prewarmed(); conn != nil {
		a.hop.take(conn.raw)
		if !a.leave() {
			conn.Release()
			a.hop.leave(false)
			return nil, errTooLate
		}
		a.responded.Store(false)
		resp, err := conn.RoundTrip(req)
		// Without a response, resend it if the connection turned out to be
		// dead.
		if err == nil || a.responded.Load() || conn.Err() == nil || req.Context().Err() != nil {
			return a.received(resp, err)
		}
		a.hop.leave(false)
		rewind(req)
	}
	resp, err := a.client.transport.RoundTrip(req)
	if err != nil && a.hop.lost() && req.Context().Err() == nil {
		// Another attempt closed the connection they shared.
		a.hop.leave(false)
		rewind(req)
		resp, err = a.client.transport.RoundTrip(req)
	}
	return a.received(resp, err)
}

// prewarmed returns a connection that was opened ahead, or nil.
func (a *attempt) prewarmed() *warmConn {
	if a.url.Scheme != "https" {
		return nil
	}
	return a.client.warm.take(hostPort(a.url))
}

// received ends the hop of a failed request; otherwise closing the response's
// body ends it.
func (a *attempt) received(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		a.hop.leave(true)
		return nil, err
	}
	resp.Body = newResponseBody(resp, &a.hop, nil)
	return resp, nil
}

// traced returns a context through which the transport reports the connection
// it chose and the first byte of a response.
func (a *attempt) traced(ctx context.Context) context.Context {
	a.trace = httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			a.hop.chosen(info)
			if !a.leave() {
				a.hop.refuse(info)
			}
		},
		GotFirstResponseByte: func() { a.responded.Store(true) },
	}
	return httptrace.WithClientTrace(ctx, &a.trace)
}

// errTooLate is the cause with which an attempt ends that may not be sent any
// more.
var errTooLate = errors.New("the request may not be sent any more")

// leave asks whether the request may be sent now. Further hops and connections
// need no permission.
func (a *attempt) leave() bool {
	if a.req.Leave == nil || a.left {
		return true
	}
	if a.left = a.req.Leave(); !a.left {
		a.stop(errTooLate)
	}
	return a.left
}

func rewind(req *http.Request) {
	if req.GetBody != nil {
		req.Body, _ = req.GetBody()
	}
}

func (a *attempt) request(ctx context.Context) *http.Request {
	req := new(http.Request).WithContext(ctx)
	req.Method = a.method
	req.URL = a.url
	req.Host = a.url.Host
	req.Proto, req.ProtoMajor, req.ProtoMinor = "HTTP/1.1", 1, 1
	req.Header = a.header(time.Now())
	if body := a.body; len(body) > 0 {
		// Only with this pair of types does net/http know that the body is in
		// memory and can be sent together with the header.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
		req.ContentLength = int64(len(body))
	}
	return req
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
	a.foreign = a.foreign || !sameOrigin(a.url, next)
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
