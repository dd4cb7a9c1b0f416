package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
)

// Request is a call in the API's own terms, for what has no method here: see
// [Client.Do], [Client.Pages] and [Client.Open].
type Request struct {
	// Method is GET if empty.
	Method string
	// Path is below Config.URL and begins with a slash, as in "/api/jobs". Its elements
	// are escaped (url.PathEscape). It may have a query, to which Query is added.
	Path  string
	Query url.Values
	// Header is sent too. The key and User-Agent are set by the client, Content-Type if
	// it is absent.
	Header http.Header
	// Body is sent as it is if it is a []byte or a json.RawMessage, and else encoded as
	// JSON. Nil sends none.
	Body any
	// Repeatable permits to make a POST or PATCH twice, because the service recognises
	// it (request_id, Idempotency-Key) or the second changes nothing. GET, PUT and
	// DELETE always are.
	Repeatable bool
}

// Response is a successful response of the API, read whole.
type Response struct {
	Status int // 200 to 299
	Header http.Header
	Body   []byte // of at most Config.MaxResponseBytes
}

// Do makes a call and returns its response, with the retries of every other method. A
// response with another status than 200 to 299 is a [*Problem].
func (c *Client) Do(ctx context.Context, request Request) (*Response, error) {
	call, err := request.call()
	if err != nil {
		return nil, err
	}
	return c.do(ctx, call)
}

// Open is Do for a response that is a stream. It returns the response with its body
// unread, which the caller closes; neither Config.AttemptTimeout nor
// Config.MaxResponseBytes applies to it. It makes one try.
func (c *Client) Open(ctx context.Context, request Request) (*http.Response, error) {
	call, err := request.call()
	if err != nil {
		return nil, err
	}
	return c.open(ctx, call)
}

// ErrNextPage reports a list whose pages can't be followed to the end.
var ErrNextPage = errors.New("punctual: the link to the next page")

// Pages iterates over the pages of a list, which is the array under data of each response.
// An error is the last item, [ErrNextPage] if a page links to another path or to itself.
func (c *Client) Pages(ctx context.Context, request Request) iter.Seq2[*Response, error] {
	return func(yield func(*Response, error) bool) {
		call, err := request.call()
		if err != nil {
			yield(nil, err)
			return
		}
		path, _, _ := strings.Cut(call.path, "?")
		for {
			got, err := c.do(ctx, call)
			if !yield(got, err) || err != nil {
				return
			}
			next, err := nextPage(got.Header, path)
			if err == nil && next != nil && next.Encode() == call.query.Encode() {
				err = fmt.Errorf("%w leads to the same page", ErrNextPage)
			}
			if err != nil {
				yield(nil, err)
			}
			if next == nil || err != nil {
				return
			}
			call.path, call.query = path, next
		}
	}
}

// call returns the call of a request.
func (r Request) call() (call, error) {
	// Without the slash, the path could continue the name of the host.
	if !strings.HasPrefix(r.Path, "/") {
		return call{}, fmt.Errorf("punctual: the path must begin with a slash, not be %q", r.Path)
	}
	method := cmp.Or(strings.ToUpper(r.Method), http.MethodGet)
	unsafe := method == http.MethodPost || method == http.MethodPatch
	return call{method: method, path: r.Path, query: r.Query, header: r.Header, body: r.Body, once: unsafe && !r.Repeatable}, nil
}

// encode returns a body as it is sent: JSON without a newline behind it. Unlike
// json.Marshal it leaves <, > and & as they are, so that a job sends what it was given.
func encode(body any) ([]byte, error) {
	switch body := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return body, nil
	case json.RawMessage:
		return body, nil
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("punctual: encoding the request: %w", err)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}
