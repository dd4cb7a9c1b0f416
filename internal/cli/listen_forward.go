package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/listen"
)

// forwarder sends requests to the program that a developer runs.
type forwarder struct {
	base      *url.URL
	transport *http.Transport
}

// newForwarder returns a forwarder to a URL.
func newForwarder(to string) (*forwarder, error) {
	if !strings.Contains(to, "://") {
		to = "http://" + to
	}
	base, err := url.Parse(to)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.User != nil || base.RawQuery != "" ||
		base.Fragment != "" {
		return nil, failed(statusUsage, "--forward-to must be a URL like http://localhost:3000, not %q", to)
	}
	return &forwarder{base, &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		DisableCompression:  true, // the response is recorded as it was sent
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 256 << 10,
	}}, nil
}

func (f *forwarder) close() { f.transport.CloseIdleConnections() }

// maxDiscarded is how much of a longer response is read, as of other targets.
const maxDiscarded = 16 << 20

// answer sends a request and returns the response, or the failure, as a message.
func (f *forwarder) answer(ctx context.Context, m *listen.Message) *listen.Message {
	request, err := f.request(ctx, m)
	if err != nil {
		return notAnswered(job.KindProtocol, "the request can't be sent to "+f.base.String())
	}
	got, err := f.transport.RoundTrip(request) // which follows no redirects
	if err != nil {
		return f.failure(ctx, err)
	}
	defer func() { _ = got.Body.Close() }()
	if got.StatusCode == http.StatusSwitchingProtocols {
		return notAnswered(job.KindProtocol, f.base.Host+" switched to another protocol unasked")
	}
	body, err := io.ReadAll(io.LimitReader(got.Body, listen.MaxBody))
	if err == nil && len(body) == listen.MaxBody {
		_, err = io.CopyN(io.Discard, got.Body, maxDiscarded)
		if err == io.EOF {
			err = nil
		}
	}
	if err != nil {
		return f.failure(ctx, err)
	}
	f.relocate(got, m)
	return &listen.Message{Type: listen.Response, Status: got.StatusCode, Header: listen.Fields(got.Header), Body: body}
}

// request returns the request as it is sent on this machine.
func (f *forwarder) request(ctx context.Context, m *listen.Message) (*http.Request, error) {
	if !strings.HasPrefix(m.Path, "/") {
		return nil, errors.New("the path does not begin with a slash")
	}
	to := strings.TrimSuffix(f.base.String(), "/") + m.Path
	request, err := http.NewRequestWithContext(ctx, m.Method, to, nil)
	if err != nil {
		return nil, err
	}
	if len(m.Body) > 0 {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(m.Body)), int64(len(m.Body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.Body)), nil }
	}
	for _, field := range m.Header {
		request.Header[field[0]] = append(request.Header[field[0]], field[1])
	}
	return request, nil
}

// relocate makes a redirect to the program one to the URL that the service knows it
// by, as reverse proxies do.
func (f *forwarder) relocate(got *http.Response, m *listen.Message) {
	location := got.Header.Get("Location")
	if location == "" {
		return
	}
	to, err := got.Request.URL.Parse(location)
	if err != nil || to.Scheme != f.base.Scheme || to.Host != f.base.Host {
		return
	}
	base := strings.TrimSuffix(f.base.EscapedPath(), "/")
	path, below := strings.CutPrefix(to.EscapedPath(), base)
	if !below || path != "" && path[0] != '/' {
		return
	}
	if to.RawQuery != "" {
		path += "?" + to.RawQuery
	}
	got.Header.Set("Location", m.Base+path)
}

func notAnswered(kind job.Kind, text string) *listen.Message {
	return &listen.Message{Type: listen.Failure, Kind: kind, Error: text}
}

// failure returns the failure of a request that got no complete response.
func (f *forwarder) failure(ctx context.Context, err error) *listen.Message {
	var dial *net.OpError
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return notAnswered(job.KindTimeout, f.base.Host+" did not respond in time")
	case ctx.Err() != nil:
		return notAnswered(job.KindClosed, "the request was cancelled")
	case errors.Is(err, syscall.ECONNREFUSED):
		return notAnswered(job.KindConnect, f.base.Host+" refused the connection")
	case errors.As(err, &dial) && dial.Op == "dial":
		return notAnswered(job.KindConnect, f.base.Host+" can't be connected to: "+dial.Err.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return notAnswered(job.KindClosed, f.base.Host+" closed the connection before its response was complete")
	}
	return notAnswered(job.KindProtocol, f.base.Host+" did not respond with valid HTTP")
}
