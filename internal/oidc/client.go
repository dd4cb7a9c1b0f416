package oidc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// requestWithin is how long a request to the provider may take.
	requestWithin = 10 * time.Second
	// maxResponse is how many bytes of a response are read.
	maxResponse = 1 << 20
	// maxRedirects is how many redirects a request follows.
	maxRedirects = 3
)

// newClient returns the client for requests to the provider.
func newClient(roots *x509.CertPool) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	transport.MaxConnsPerHost = 8
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{
		Transport: bounded{transport}, Timeout: requestWithin,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			first := via[0]
			switch {
			case len(via) > maxRedirects:
				return errors.New("too many redirects")
			case first.Method != http.MethodGet || r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host:
				// Codes, secrets and tokens stay where they were sent.
				return errors.New("a redirect to another address")
			}
			return nil
		},
	}
}

// bounded limits the bytes of responses.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxResponse)
	}
	return response, err
}

const (
	// fetchPause is how long after a fetch the next one may begin, however many ask for it.
	fetchPause = 10 * time.Second
	// staleMax is how long a value is used while it can't be fetched anew.
	staleMax = 24 * time.Hour
)

// cached is a value that is fetched from the provider.
type cached[T any] struct {
	fetch func(context.Context) (T, error)
	now   func() time.Time

	flight singleflight.Group
	mu     sync.Mutex
	value  T
	at     time.Time // when it was fetched; zero if it never was
	count  int64     // of the fetches that succeeded
	tried  time.Time // when a fetch ended
	err    error     // of the latest fetch
}

// get returns the value. It is fetched if it is older than an age, but not within fetchPause
// of the last fetch.
func (c *cached[T]) get(ctx context.Context, age time.Duration) (T, error) {
	if value, done, err := c.known(age); done {
		return value, err
	}
	result := c.flight.DoChan("", func() (any, error) {
		if _, done, _ := c.known(age); done { // fetched by whoever was a moment earlier
			return nil, nil
		}
		// Others wait too, so the fetch does not end with who began it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestWithin)
		defer cancel()
		value, err := c.fetch(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tried, c.err = c.now(), err
		if err == nil {
			c.value, c.at, c.count = value, c.tried, c.count+1
		}
		return nil, nil
	})
	select {
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	case <-result:
		value, _, err := c.known(staleMax)
		return value, err
	}
}

// fetched returns how often the value was fetched.
func (c *cached[T]) fetched() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// known returns the value as it is known, and whether it need not or can't be fetched now.
func (c *cached[T]) known(age time.Duration) (value T, done bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	have := !c.at.IsZero() && now.Sub(c.at) < staleMax
	switch {
	case have && now.Sub(c.at) < age:
		return c.value, true, nil
	case have:
		return c.value, now.Sub(c.tried) < fetchPause, nil
	case c.err != nil:
		return value, now.Sub(c.tried) < fetchPause, c.err
	}
	return value, false, errors.New("the provider was not reached yet")
}
