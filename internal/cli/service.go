package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// serviceFlags are the flags of commands that call a running service.
type serviceFlags struct {
	URL  string `name:"service" setting:"" default:"http://127.0.0.1:8080" placeholder:"URL" help:"The URL of the service."`
	Key  apiKey `name:"key" setting:"" placeholder:"KEY" help:"An account's API key. Prefer the environment variable: other users can see a command's flags."`
	JSON bool   `name:"json" type:"switch" help:"Print JSON."`
}

const (
	// callTimeout is how long a call may take.
	callTimeout = 30 * time.Second
	// maxResponse bounds what is read: a page of the largest records.
	maxResponse = 256 << 20
)

// response is a successful response of the API.
type response struct {
	header http.Header
	text   []byte
}

// refusal is a problem (RFC 9457) that the service returned.
type refusal struct {
	status   int
	detail   string
	problems []problem
}

type problem struct{ Detail, Pointer, Parameter string }

// Error returns the detail and, if there are several, each problem on a line.
func (r *refusal) Error() string {
	text := r.detail
	if len(r.problems) > 1 {
		for _, p := range r.problems {
			text += "\n  " + strings.TrimPrefix(p.Pointer, "#/") + p.Parameter + " " + p.Detail
		}
	}
	return text
}

// record calls the API and returns the data of its response, unchanged.
func (c *serviceFlags) record(env *environment, method, path string, body []byte) ([]byte, error) {
	got, err := c.call(env, method, path, body, nil)
	if err != nil {
		return nil, err
	}
	return c.data(got)
}

// data returns the data of a response, unchanged.
func (c *serviceFlags) data(got *response) ([]byte, error) {
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal(got.text, &envelope); err != nil || envelope.Data == nil {
		return nil, c.notPunctual()
	}
	return envelope.Data, nil
}

func (c *serviceFlags) notPunctual() error {
	return fmt.Errorf("what responds at %s is not punctual", c.URL)
}

// call sends a request with JSON to the API. Its error is a *refusal if the
// service refused the request.
func (c *serviceFlags) call(env *environment, method, path string, body []byte, header http.Header) (*response, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("--service must be an address like https://punctual.example.com, not %q", c.URL)
	}
	if c.Key == "" {
		return nil, errors.New("a key is needed: set PUNCTUAL_KEY, or give --key; punctual keys create EMAIL makes one")
	}
	request, err := http.NewRequestWithContext(env.ctx, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		request.Header = header
	}
	request.Header.Set("Authorization", "Bearer "+string(c.Key))
	if body != nil && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{Timeout: callTimeout}
	got, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the service can't be reached; --service or PUNCTUAL_SERVICE says where it is: %w", err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxResponse))
	if err != nil {
		return nil, fmt.Errorf("reading the service's response: %w", err)
	}
	if got.StatusCode >= http.StatusMultipleChoices {
		return nil, refused(got, text)
	}
	return &response{got.Header, text}, nil
}

// refused returns the error of a response that is not a success.
func refused(got *http.Response, text []byte) error {
	var p struct {
		Detail string
		Errors []problem
	}
	if err := json.Unmarshal(text, &p); err != nil || p.Detail == "" {
		return fmt.Errorf("the service responded %s", got.Status)
	}
	return &refusal{got.StatusCode, p.Detail, p.Errors}
}
