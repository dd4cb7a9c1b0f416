package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-dev/punctual/internal/pause"
)

// client sends spans by OTLP over HTTP with Protobuf. It implements
// otlptrace.Client: the official one for HTTP brings gRPC with it.
type client struct {
	settings
	http *http.Client
}

const (
	uploadTries = 4
	firstPause  = time.Second
	maxPause    = 10 * time.Second
	maxResponse = 64 << 10 // bytes of a response that are read
)

func newClient(s settings) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = s.tls
	transport.MaxIdleConns, transport.MaxConnsPerHost = 2, 2
	return &client{settings: s, http: &http.Client{
		Transport: transport, Timeout: s.timeout,
		// The header may have credentials in it.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. It tries again if the collector asks for
// it, until the context ends.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData has the same encoding as ExportTraceServiceRequest.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encoding spans: %w", err)
	}
	if c.gzip {
		if body, err = compress(body); err != nil {
			return err
		}
	}
	least := firstPause
	for try := 1; ; try++ {
		wait, err := c.send(ctx, body)
		if err == nil || wait < 0 || try == uploadTries {
			return err
		}
		if !pause.For(ctx, min(max(wait, least), maxPause)) {
			return err
		}
		least *= 2
	}
}

// send sends spans once. If that fails, wait is how long to wait at least before
// another try; -1 for no other try.
func (c *client) send(ctx context.Context, body []byte) (wait time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, withoutURL(err)
	}
	request.Header = c.header.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	if c.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, fmt.Errorf("sending spans to the collector: %w", withoutURL(err))
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxResponse)
	if response.StatusCode/100 == 2 {
		return 0, nil
	}
	err = fmt.Errorf("the collector refused spans with status %d", response.StatusCode)
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return time.Duration(min(max(seconds, 0), 3600)) * time.Second, err
	}
	return -1, err
}

// withoutURL returns the error of a request without its URL, which may have
// credentials in it.
func withoutURL(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

func compress(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		return nil, fmt.Errorf("compressing spans: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing spans: %w", err)
	}
	return out.Bytes(), nil
}
