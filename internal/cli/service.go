package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/buildinfo"
)

// displayFlags are the flags of commands that print records.
type displayFlags struct {
	JSON  bool   `name:"json" type:"switch" help:"Print JSON."`
	Quiet bool   `short:"q" type:"switch" help:"Print ids only."`
	Color string `default:"auto" enum:"auto,always,never" placeholder:"WHEN" help:"Use colours: auto (at a terminal), always or never."`
}

func (c *displayFlags) wantsJSON() bool { return c.JSON }

// terminal returns how to show what goes to standard output.
func (c *displayFlags) terminal(env *environment) terminal { return env.terminal.with(c.Color) }

// serviceFlags are the flags of commands that call a running service.
type serviceFlags struct {
	URL     string `name:"url" aliases:"service" setting:"" placeholder:"URL" help:"The URL of the service. Default: the profile's, else http://127.0.0.1:8080."`
	Key     apiKey `name:"api-key" aliases:"key" setting:"" placeholder:"KEY" help:"An account's API key. Prefer punctual login or the environment variable: other users can see a command's flags."`
	Profile string `setting:"" placeholder:"NAME" help:"The profile to use, as punctual login stored it."`
	displayFlags
}

const (
	// callTimeout is how long a call may take.
	callTimeout = 30 * time.Second
	// maxResponse bounds what is read: a page of the largest records.
	maxResponse = 256 << 20
	// maxProblem bounds what is read of a response that is no success.
	maxProblem = 1 << 20
)

// response is a successful response of the API.
type response struct {
	header http.Header
	text   []byte
}

// refusal is a problem (RFC 9457) that the service returned.
type refusal struct {
	status     int
	detail     string
	problems   []problem
	retryAfter string // seconds; "" if not known
	text       []byte // as it was sent
}

type problem struct{ Detail, Pointer, Parameter string }

// moreProblems is how a detail ends that names only the first problems of many.
var moreProblems = regexp.MustCompile(`and \d+ more problems?$`)

// Error returns the detail. Several problems are on a line each: in place of the detail
// if it repeats them, else after it.
func (r *refusal) Error() string {
	if len(r.problems) < 2 {
		return printable(r.detail)
	}
	text, more := printable(r.detail), ""
	if !slices.ContainsFunc(r.problems, func(p problem) bool { return !strings.Contains(r.detail, p.Detail) }) {
		text = "the service refuses this:"
		more = moreProblems.FindString(r.detail)
	}
	for _, p := range r.problems {
		text += "\n  " + printable(strings.TrimPrefix(p.Pointer, "#/")+p.Parameter+" "+p.Detail)
	}
	if more != "" {
		text += "\n  " + more
	}
	return text
}

// record calls the API and returns the data of its response, unchanged.
func (c *serviceFlags) record(env *environment, method, path string, body []byte) ([]byte, error) {
	got, err := c.call(env, method, path, body, nil)
	if err != nil {
		return nil, err
	}
	return c.data(env, got)
}

// data returns the data of a response, unchanged.
func (c *serviceFlags) data(env *environment, got *response) ([]byte, error) {
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal(got.text, &envelope); err != nil || envelope.Data == nil {
		return nil, c.notPunctual(env)
	}
	return envelope.Data, nil
}

func (c *serviceFlags) notPunctual(env *environment) error {
	where := c.URL
	if s, err := c.session(env); err == nil {
		where = s.url
	}
	return failed(statusUnreachable, "what responds at %s is not punctual", where)
}

// unreadable is the error for a response that can't be decoded.
func unreadable(err error) error { return fmt.Errorf("reading the service's response: %w", err) }

// call sends a request with JSON to the API. Its error is a *refusal if the
// service refused the request.
func (c *serviceFlags) call(env *environment, method, path string, body []byte, header http.Header) (*response, error) {
	ctx, cancel := context.WithTimeout(env.ctx, callTimeout)
	defer cancel()
	got, err := c.open(ctx, env, method, path, body, header)
	if err != nil {
		return nil, err
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxResponse+1))
	if err != nil {
		return nil, unreached(env, err)
	}
	if len(text) > maxResponse {
		return nil, fmt.Errorf("the service's response is longer than %d bytes; ask for fewer records", maxResponse)
	}
	return &response{got.Header, text}, nil
}

// open sends a request to the API and returns the response if it is a success. The
// caller closes its body.
func (c *serviceFlags) open(ctx context.Context, env *environment, method, path string, body []byte,
	header http.Header) (*http.Response, error) {
	s, err := c.session(env)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, env, method, path, body, header)
}

// open sends a request to the service of the session.
func (s *session) open(ctx context.Context, env *environment, method, path string, body []byte,
	header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.url, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("User-Agent", "punctual/"+buildinfo.Read().Version)
	request.Header.Set("Authorization", "Bearer "+s.key)
	if body != nil && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(request)
	if err != nil {
		return nil, unreached(env, err)
	}
	if got.StatusCode < http.StatusMultipleChoices {
		return got, nil
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxProblem))
	if err != nil {
		return nil, unreached(env, err)
	}
	return nil, refused(got, text)
}

// unreached is the error of a call without a response.
func unreached(env *environment, err error) error {
	var failure *url.Error
	if errors.As(err, &failure) {
		err = failure.Err // the method and the URL are known to the user
	}
	switch {
	case env.ctx.Err() != nil:
		return failed(statusInterrupted, "interrupted")
	case errors.Is(err, context.DeadlineExceeded):
		return failed(statusUnreachable, "the service did not respond within %s", callTimeout)
	}
	return failed(statusUnreachable, "the service can't be reached; --url, PUNCTUAL_URL or the profile says where it is: %w", err)
}

// refused returns the error of a response that is not a success.
func refused(got *http.Response, text []byte) error {
	if got.StatusCode < http.StatusBadRequest {
		if to, err := got.Location(); err == nil {
			return failed(statusUnreachable, "the service responded %s, to %s; if that is the service, give its URL", got.Status,
				printable(to.String()))
		}
		return failed(statusUnreachable, "the service responded %s", got.Status)
	}
	var p struct {
		Detail string
		Error  string // of the QStash-compatible API
		Errors []problem
	}
	err := json.Unmarshal(text, &p)
	if p.Detail = cmp.Or(p.Detail, p.Error); err != nil || p.Detail == "" {
		return &refusal{status: got.StatusCode, detail: "the service responded " + got.Status}
	}
	return &refusal{got.StatusCode, p.Detail, p.Errors, got.Header.Get("Retry-After"), text}
}
