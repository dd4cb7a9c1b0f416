package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// Client calls the API of a service with one key. It checks every response
// against the OpenAPI document.
type Client struct {
	Service *Service
	Key     string // none when empty

	t testing.TB
}

// Client returns a client with a key ("" for none), for one test.
func (s *Service) Client(t testing.TB, key string) *Client {
	return &Client{Service: s, Key: key, t: t}
}

// Public returns a client with the shared public key.
func (s *Service) Public(t testing.TB) *Client { return s.Client(t, PublicKey) }

// For returns the same client for another test, such as a subtest.
func (c *Client) For(t testing.TB) *Client { return c.Service.Client(t, c.Key) }

// RequestOption changes a request before it is sent.
type RequestOption func(*http.Request)

// Header sets a header of the request; with no value it is left out.
func Header(name string, values ...string) RequestOption {
	return func(req *http.Request) {
		if len(values) == 0 {
			req.Header.Del(name)
			return
		}
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
}

// ContentType sets the media type of the body; "" leaves it out.
func ContentType(mediaType string) RequestOption {
	if mediaType == "" {
		return Header("Content-Type")
	}
	return Header("Content-Type", mediaType)
}

// transport opens as many connections as a test wants at once and follows
// neither proxies nor redirects.
var transport = &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: IdleFor, DisableCompression: true}

// IdleFor is how long clients keep a connection that they don't use: less than
// the service does, which would lose a call that is sent at the same moment.
const IdleFor = 90 * time.Second

var httpClient = &http.Client{
	Transport:     transport,
	Timeout:       pace.Guard(30 * time.Second),
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Do sends a request and returns the response; if there is none, the test
// fails. The body is a string or []byte (sent as JSON, byte for byte),
// url.Values (sent as a form) or nil.
func (c *Client) Do(method, path string, body any, opts ...RequestOption) *Answer {
	c.t.Helper()
	answer, err := c.Try(method, path, body, opts...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer
}

// Get reads a path.
func (c *Client) Get(path string, opts ...RequestOption) *Answer {
	c.t.Helper()
	return c.Do(http.MethodGet, path, nil, opts...)
}

// Post sends a body to a path.
func (c *Client) Post(path string, body any, opts ...RequestOption) *Answer {
	c.t.Helper()
	return c.Do(http.MethodPost, path, body, opts...)
}

// Try is Do for goroutines, and for services that may be gone: a missing
// response is an error. Responses that the OpenAPI document does not describe
// still fail the test.
func (c *Client) Try(method, path string, body any, opts ...RequestOption) (*Answer, error) {
	c.t.Helper()
	answer, fault, err := c.Probe(method, path, body, opts...)
	if err != nil {
		return nil, err
	}
	if fault != nil {
		c.t.Errorf("%v\n%s", fault, answer)
	}
	return answer, nil
}

// Probe sends a request and leaves it to the caller what to make of the response:
// fault says what is wrong with it, err that there was none. A refusal because the
// database server does not respond is not returned at once: see [Client.deferred].
func (c *Client) Probe(method, path string, body any, opts ...RequestOption) (a *Answer, fault, err error) {
	payload, mediaType := encode(body)
	Within(30*time.Second, func() bool {
		a, fault, err = c.send(method, path, payload, mediaType, opts)
		return err != nil || !c.deferred(a)
	})
	return a, fault, err
}

// deferred reports whether a call was refused without effect because PostgreSQL did not
// respond, as happens where the server gets no processor for a second or two. Clients
// have to call again then.
func (c *Client) deferred(a *Answer) bool {
	return a.Status == http.StatusServiceUnavailable && strings.HasPrefix(c.Service.DatabaseURL, "postgres") &&
		strings.Contains(a.JSON.Get("detail").Str(), "the store can't be reached right now; nothing was changed")
}

func (c *Client) send(method, path string, payload []byte, mediaType string, opts []RequestOption) (a *Answer, fault, err error) {
	req, err := http.NewRequest(method, c.Service.URL()+path, bytes.NewReader(payload))
	if err != nil {
		return nil, nil, err
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	for _, opt := range opts {
		opt(req)
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the answer: %w", err)
	}
	a = &Answer{
		Status: resp.StatusCode, Header: resp.Header, Body: text, JSON: JSON(text),
		request: describe(req, payload), t: c.t,
	}
	return a, c.fault(method, path, req.Header, payload, a), nil
}

// fault reports what is wrong with a response whatever the request was.
func (c *Client) fault(method, path string, header http.Header, body []byte, answer *Answer) error {
	if answer.Status == http.StatusInternalServerError {
		return errors.New("an internal error")
	}
	if isPage(path, header, answer) {
		return nil
	}
	if err := conforms(c.t, method, path, header, body, answer); err != nil {
		return fmt.Errorf("the OpenAPI document does not describe this answer: %w", err)
	}
	return nil
}

// isPage reports whether a response is the dashboard's page of what is not there:
// beside the API, who asks for HTML gets that instead of a problem.
func isPage(path string, header http.Header, answer *Answer) bool {
	return answer.Status == http.StatusNotFound && !strings.HasPrefix(path, "/api/") &&
		strings.Contains(header.Get("Accept"), "text/html") && strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html")
}

func encode(body any) (payload []byte, mediaType string) {
	switch body := body.(type) {
	case nil:
		return nil, ""
	case string:
		return []byte(body), "application/json"
	case []byte:
		return body, "application/json"
	case JSON:
		return []byte(body), "application/json"
	case url.Values:
		return []byte(body.Encode()), "application/x-www-form-urlencoded"
	default:
		panic(fmt.Sprintf("no body can be made of a %T", body))
	}
}

func describe(req *http.Request, payload []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", req.Method, req.URL.RequestURI())
	for name, values := range req.Header {
		if name != "Authorization" {
			fmt.Fprintf(&b, "\n  %s: %q", name, values)
		}
	}
	if len(payload) > 0 {
		fmt.Fprintf(&b, "\n  %s", shorten(payload))
	}
	return b.String()
}

func shorten(text []byte) string {
	const most = 1500
	if len(text) <= most {
		return string(text)
	}
	return fmt.Sprintf("%s[... %d bytes]", text[:most], len(text))
}
