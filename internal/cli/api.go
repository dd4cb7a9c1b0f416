package cli

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

type apiCommand struct {
	serviceFlags
	Method  string   `arg:"" help:"GET, POST, PUT, PATCH or DELETE."`
	Path    string   `arg:"" help:"The path, such as /api/jobs or jobs?limit=1."`
	Field   []string `short:"f" sep:"none" placeholder:"FIELD=VALUE" help:"A field of the body, or a parameter of a GET: JSON or text. May be repeated."`
	Input   string   `placeholder:"FILE" help:"A file with the body; - for standard input."`
	Header  []string `short:"H" sep:"none" placeholder:"'NAME: VALUE'" help:"A header of the call; may be repeated."`
	Include bool     `short:"i" type:"switch" help:"Print the status and the headers of the response too."`
}

// Run makes a call of the API and prints the response's body.
func (c *apiCommand) Run(env *environment) error {
	method := strings.ToUpper(c.Method)
	path, body, err := c.request(env, method)
	if err != nil {
		return err
	}
	header := http.Header{}
	for _, h := range c.Header {
		name, value, err := splitHeader(h)
		if err != nil {
			return err
		}
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return failed(statusUsage, "--header can't have the key; use punctual login, PUNCTUAL_API_KEY or --api-key")
		}
		header.Add(name, value)
	}
	// A stream has no end, so only a call that changes something has a time limit.
	ctx, cancel := env.ctx, context.CancelFunc(func() {})
	if method != http.MethodGet {
		ctx, cancel = context.WithTimeout(env.ctx, callTimeout)
	}
	defer cancel()
	got, err := c.open(ctx, env, client.Request{Method: method, Path: path, Body: body, Header: header})
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	if c.Include {
		if err := printHead(env, got); err != nil {
			return err
		}
	}
	return c.copyBody(env, got)
}

var apiMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// request returns the path and the body of the call.
func (c *apiCommand) request(env *environment, method string) (path string, body []byte, err error) {
	if !slices.Contains(apiMethods, method) {
		return "", nil, failed(statusUsage, "METHOD must be GET, POST, PUT, PATCH or DELETE, not %q", c.Method)
	}
	path = c.Path
	if !strings.HasPrefix(path, "/") && !strings.Contains(path, "://") {
		path = "/api/" + path
	}
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Fragment != "" {
		return "", nil, failed(statusUsage, "PATH must be a path of the API, such as /api/jobs, not %q", c.Path)
	}
	if c.Input != "" {
		if len(c.Field) > 0 {
			return "", nil, failed(statusUsage, "give the body with --field or with --input, not with both")
		}
		body, err = readInput(env, c.Input, maxInput)
		return u.RequestURI(), body, err
	}
	query := u.Query()
	var members []rawjson.Member
	for _, text := range c.Field {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return "", nil, failed(statusUsage, "--field must be like FIELD=VALUE, not %q", text)
		}
		query.Add(name, value)
		members = setField(members, name, apiValue(name, value))
	}
	if method == http.MethodGet {
		u.RawQuery = query.Encode()
	} else if members != nil {
		body = rawjson.Object(members)
	}
	return u.RequestURI(), body, nil
}

// apiValue returns the value of a field: text where the API has text, else JSON if
// it is some.
func apiValue(name, text string) rawjson.Value {
	if f := job.FieldNamed(name); f != nil && f.Kind == job.TextValue {
		return rawjson.Quote(text)
	}
	return jsonOrText(text)
}

// printHead prints the status and the headers of a response.
func printHead(env *environment, got *http.Response) error {
	text := got.Proto + " " + got.Status + "\n"
	names := make([]string, 0, len(got.Header))
	for name := range got.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range got.Header[name] {
			text += printable(name+": "+value) + "\n"
		}
	}
	_, err := fmt.Fprintln(env.out, text)
	return err
}

// copyBody prints a response's body: JSON in lines, anything else as it comes.
func (c *apiCommand) copyBody(env *environment, got *http.Response) error {
	mediaType, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if job.IsJSON(mediaType) {
		text, err := io.ReadAll(io.LimitReader(got.Body, maxResponse))
		if err != nil {
			return unreached(env, err)
		}
		return c.print(env, text, nil)
	}
	out := env.out
	if env.terminal.interactive {
		out = &safeLines{out}
	}
	if _, err := io.Copy(out, got.Body); err != nil {
		return fmt.Errorf("the response is not complete: %w", unreached(env, err))
	}
	return nil
}
