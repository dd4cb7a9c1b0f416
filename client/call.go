package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// firstWait is the wait before the first retry; each further one is twice as long.
const firstWait = 200 * time.Millisecond

// ErrTooLarge reports a response over Config.MaxResponseBytes.
var ErrTooLarge = errors.New("punctual: the response is larger than MaxResponseBytes")

// call is one call of the API.
type call struct {
	method string
	path   string // begins with a slash; elements are escaped
	query  url.Values
	header http.Header
	body   any // encoded as JSON; nil sends none
	// once marks a call that must not be made twice. It is repeated only if the
	// service certainly did nothing.
	once bool
}

// do makes a call, with retries.
func (c *Client) do(ctx context.Context, call call) (*Response, error) {
	body, err := encode(call.body)
	if err != nil {
		return nil, err
	}
	var failed time.Time // first
	for attempt := 0; ; attempt++ {
		if err := c.awaitRate(ctx); err != nil {
			return nil, err
		}
		got, err := c.exchange(ctx, call, body)
		if err == nil {
			return got, nil
		}
		if failed.IsZero() {
			failed = time.Now()
		}
		var problem *Problem
		errors.As(err, &problem)
		wait := c.backoff(attempt)
		if problem != nil {
			wait = max(wait, problem.RetryAfter)
		} else if unsent(err) {
			wait = min(wait, longestRefusedWait/2+rand.N(longestRefusedWait/2))
		}
		if !c.retries(attempt, failed, err) || !retryable(call, problem, err) || ctx.Err() != nil || wait > c.config.MaxWait ||
			c.config.OnRetry != nil && !c.config.OnRetry(err) {
			return nil, err
		}
		if ended := sleep(ctx, wait); ended != nil {
			return nil, fmt.Errorf("%w; then %w", err, ended)
		}
	}
}

// longestRefusedWait bounds the waits while connections fail.
const longestRefusedWait = 2 * time.Second

// retries reports whether a call that has failed so many times before, first at failed,
// is to be repeated, if it can be.
func (c *Client) retries(attempt int, failed time.Time, err error) bool {
	return attempt < c.config.MaxRetries || c.config.MaxRetries >= 0 && unsent(err) && time.Since(failed) < c.config.RefusedFor
}

// unsent reports whether a call failed since there was no connection to send it on.
func unsent(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

// backoff returns the wait before a retry, between half and all of its step.
func (c *Client) backoff(attempt int) time.Duration {
	step := min(firstWait, c.config.MaxWait)
	for range attempt {
		step = min(2*step, c.config.MaxWait)
	}
	return step/2 + rand.N(step/2+1)
}

// awaitRate waits until the account's rate permits a call, as far as is known.
func (c *Client) awaitRate(ctx context.Context) error {
	return sleep(ctx, min(time.Until(time.Unix(0, c.resumeAt.Load())), c.config.MaxWait))
}

// retryable reports whether a failed call may succeed if it is repeated, and does no
// harm.
func retryable(call call, problem *Problem, err error) bool {
	if problem != nil {
		switch problem.Status {
		case http.StatusTooManyRequests:
			return true
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return !call.once
		}
		return false
	}
	if errors.Is(err, ErrTooLarge) {
		return false
	}
	return !call.once || unsent(err)
}

// exchange makes one HTTP exchange. Its error is a *Problem unless the response is a
// success.
func (c *Client) exchange(ctx context.Context, call call, body []byte) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.AttemptTimeout)
	defer cancel()
	response, err := c.send(ctx, call, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, c.config.MaxResponseBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("punctual: reading the response: %w", err)
	case int64(len(text)) > c.config.MaxResponseBytes:
		return nil, ErrTooLarge
	}
	return &Response{response.StatusCode, response.Header, text}, nil
}

// open starts a stream. Its body is closed by the caller.
func (c *Client) open(ctx context.Context, call call) (*http.Response, error) {
	body, err := encode(call.body)
	if err != nil {
		return nil, err
	}
	if err := c.awaitRate(ctx); err != nil {
		return nil, err
	}
	return c.send(ctx, call, body)
}

// send sends a request and returns the response with its body unread. Its error is a
// *Problem unless the response is a success.
func (c *Client) send(ctx context.Context, call call, body []byte) (*http.Response, error) {
	response, err := c.begin(ctx, call, body)
	if err != nil || response.StatusCode < 300 {
		return response, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, min(maxProblemBytes, c.config.MaxResponseBytes)))
	if err != nil {
		return nil, fmt.Errorf("punctual: reading the response: %w", err)
	}
	return nil, problemOf(response.StatusCode, response.Header, text)
}

// begin sends a request and returns the response, whatever it is, with its body unread.
func (c *Client) begin(ctx context.Context, call call, body []byte) (*http.Response, error) {
	address := c.base.String() + call.path
	if len(call.query) > 0 {
		separator := "?"
		if strings.Contains(call.path, "?") {
			separator = "&"
		}
		address += separator + call.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, call.method, address, reader)
	if err != nil {
		return nil, fmt.Errorf("punctual: making the request: %w", err)
	}
	for name, values := range call.header {
		request.Header[name] = values
	}
	request.Header.Set("User-Agent", c.config.UserAgent)
	if c.config.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.Key)
	}
	if body != nil && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("punctual: %w", err)
	}
	if wait := rateReset(response.Header); wait > 0 {
		c.resumeAt.Store(time.Now().Add(wait).UnixNano())
	}
	return response, nil
}

// enveloped is how the API answers: the value stands under data.
type enveloped[T any] struct {
	Data T `json:"data"`
}

// decode reads a JSON answer.
func decode[T any](got *Response) (T, error) {
	var value T
	if err := json.Unmarshal(got.Body, &value); err != nil {
		return value, fmt.Errorf("punctual: reading the response as JSON: %w", err)
	}
	return value, nil
}

// fetch makes a call and returns the value under data.
func fetch[T any](ctx context.Context, c *Client, call call) (*T, error) {
	got, err := c.do(ctx, call)
	if err != nil {
		return nil, err
	}
	value, err := decode[enveloped[T]](got)
	if err != nil {
		return nil, err
	}
	return &value.Data, nil
}

// element escapes an element of a path.
func element[T ~string](name T) string { return "/" + url.PathEscape(string(name)) }
