package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
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
)

// refusal is a problem (RFC 9457) that the service returned.
type refusal struct {
	status     int
	detail     string
	problems   []client.ProblemEntry
	retryAfter string // seconds; "" if not known
	text       []byte // as it was sent
}

// moreProblems is how a detail ends that names only the first problems of many.
var moreProblems = regexp.MustCompile(`and \d+ more problems?$`)

// Error returns the detail. Several problems are on a line each: in place of the detail
// if it repeats them, else after it.
func (r *refusal) Error() string {
	if len(r.problems) < 2 {
		return printable(r.detail)
	}
	text, more := printable(r.detail), ""
	if !slices.ContainsFunc(r.problems, func(p client.ProblemEntry) bool { return !strings.Contains(r.detail, p.Detail) }) {
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
func (c *serviceFlags) data(env *environment, got *client.Response) ([]byte, error) {
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal(got.Body, &envelope); err != nil || envelope.Data == nil {
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

// call calls the API once, with JSON. Its error is a *refusal if the service refused the
// request.
func (c *serviceFlags) call(env *environment, method, path string, body []byte, header http.Header) (*client.Response, error) {
	s, err := c.session(env)
	if err != nil {
		return nil, err
	}
	return s.call(env, client.Request{Method: method, Path: path, Body: body, Header: header})
}

// call calls the service of the session once.
func (s *session) call(env *environment, request client.Request) (*client.Response, error) {
	got, err := s.client(client.Config{MaxRetries: -1}).Do(env.ctx, request)
	return got, s.failure(env, err)
}

// open calls the API and returns the response if it is a success, with its body unread. The
// caller closes it.
func (c *serviceFlags) open(ctx context.Context, env *environment, request client.Request) (*http.Response, error) {
	s, err := c.session(env)
	if err != nil {
		return nil, err
	}
	got, err := s.client(client.Config{}).Open(ctx, request)
	return got, s.failure(env, err)
}

// client returns a client for the service of the session.
func (s *session) client(config client.Config) *client.Client {
	config.URL, config.Key, config.UserAgent = s.url, s.key, "punctual/"+buildinfo.Read().Version
	config.AttemptTimeout, config.MaxResponseBytes = callTimeout, maxResponse
	c, err := client.New(config)
	if err != nil {
		panic(err) // checkURL permits no URL that is not one of a client
	}
	return c
}

// failure returns the error of a command for that of a call.
func (s *session) failure(env *environment, err error) error {
	var problem *client.Problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problem):
		return refused(s.url, problem.Status, problem.Header, problem.Body)
	case errors.Is(err, client.ErrTooLarge):
		return fmt.Errorf("the service's response is longer than %d bytes; ask for fewer records", maxResponse)
	case errors.Is(err, client.ErrNextPage):
		return fmt.Errorf("the list is not complete: %s", printable(strings.TrimPrefix(err.Error(), "punctual: ")))
	}
	return unreached(env, err)
}

// unreached is the error of a call without a response.
func unreached(env *environment, err error) error {
	var failure *url.Error
	if errors.As(err, &failure) {
		err = failure.Err // the method and the URL are known to the user
	} else if cause := errors.Unwrap(err); cause != nil && strings.HasPrefix(err.Error(), "punctual: ") {
		err = cause
	}
	switch {
	case env.ctx.Err() != nil:
		return failed(statusInterrupted, "interrupted")
	case errors.Is(err, context.DeadlineExceeded):
		return failed(statusUnreachable, "the service did not respond within %s", callTimeout)
	}
	return failed(statusUnreachable, "the service can't be reached; --url, PUNCTUAL_URL or the profile says where it is: %w", err)
}

// refused returns the error of a response that is not a success, of the service at a URL.
func refused(service string, code int, header http.Header, text []byte) error {
	status := strings.TrimSpace(fmt.Sprint(code, " ", http.StatusText(code)))
	if code < http.StatusBadRequest {
		if to := header.Get("Location"); to != "" {
			if base, err := url.Parse(service); err == nil {
				if absolute, err := base.Parse(to); err == nil {
					to = absolute.String()
				}
			}
			return failed(statusUnreachable, "the service responded %s, to %s; if that is the service, give its URL", status, printable(to))
		}
		return failed(statusUnreachable, "the service responded %s", status)
	}
	var p struct {
		Detail string
		Error  string // of the QStash-compatible API
		Errors []client.ProblemEntry
	}
	err := json.Unmarshal(text, &p)
	if p.Detail = cmp.Or(p.Detail, p.Error); err != nil || p.Detail == "" {
		return &refusal{status: code, detail: "the service responded " + status}
	}
	return &refusal{code, p.Detail, p.Errors, header.Get("Retry-After"), text}
}
