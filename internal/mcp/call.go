package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// API makes calls of the API, with the credentials of one client. The URL of a request
// has a path and a query only.
type API interface {
	Do(*http.Request) (*http.Response, error)
}

const (
	// maxResponse bounds what is read of a response. A record has at most a little more
	// than a request, 1 MiB.
	maxResponse = 3 << 20
	// callTimeout is how long a call may take.
	callTimeout = 30 * time.Second
)

// complaint is an error that tells the agent what to change.
type complaint struct{ text string }

func (c *complaint) Error() string { return c.text }

func complain(format string, values ...any) error { return &complaint{fmt.Sprintf(format, values...)} }

// refusal is a response of the API that is no success.
type refusal struct {
	Status     int       `json:"status"`
	Detail     string    `json:"detail"`
	Problems   []problem `json:"errors"`
	retryAfter int       // seconds; 0 if not known
}

type problem struct {
	Detail    string `json:"detail"`
	Pointer   string `json:"pointer,omitempty"`
	Parameter string `json:"parameter,omitempty"`
}

func (r *refusal) Error() string { return r.Detail }

// answer is a success.
type answer struct {
	data   rawjson.Value // null if the response has no body
	cursor string        // of the next page; "" if there is none
	offset string
	// cut: the response was larger than maxResponse, and data has the records that fit.
	cut bool
}

// do makes a call of the API. Its error is a *refusal, a *complaint or one of the
// connection.
func (s *session) do(ctx context.Context, method, path, query string, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	target := url.URL{Path: path, RawQuery: query}
	if unescaped, err := url.PathUnescape(path); err == nil {
		target.Path, target.RawPath = unescaped, path
	}
	leave, err := s.calls.enter(ctx, s.account)
	if err != nil {
		return nil, err
	}
	defer leave()
	r := (&http.Request{Method: method, URL: &target, Header: http.Header{"Accept": {"application/json"}}, Body: http.NoBody}).WithContext(
		ctx)
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := s.api.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, refused(response, text)
	}
	return read(response.Header, text)
}

// refused reads a problem (RFC 9457).
func refused(response *http.Response, text []byte) *refusal {
	r := &refusal{}
	if json.Unmarshal(text, r) != nil || r.Detail == "" {
		r = &refusal{Detail: "the service responded with " + response.Status}
	}
	r.Status = response.StatusCode
	r.retryAfter, _ = strconv.Atoi(response.Header.Get("Retry-After"))
	return r
}

// read reads the response to a call that succeeded.
func read(header http.Header, text []byte) (*answer, error) {
	if len(text) == 0 {
		return &answer{data: rawjson.Value("null")}, nil
	}
	a := &answer{cut: len(text) > maxResponse}
	if a.cut {
		if a.data = wholeRecords(text); a.data == nil {
			return nil, complain("the record is larger than %d MiB; read it through the API", maxResponse>>20)
		}
		return a, nil
	}
	v, err := rawjson.Read(text)
	if err != nil {
		return nil, fmt.Errorf("what responds is not punctual: %w", err)
	}
	if a.data = rawjson.Get(v, "data"); a.data == nil {
		return nil, fmt.Errorf("what responds is not punctual: its response has no data")
	}
	a.cursor, a.offset = nextPage(header)
	return a, nil
}

// wholeRecords returns the records of a list whose end is missing; nil if there are none.
func wholeRecords(text []byte) rawjson.Value {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	for range 3 { // {"data":[
		if _, err := d.ReadToken(); err != nil {
			return nil
		}
	}
	if kind, _ := d.StackIndex(d.StackDepth()); kind != '[' {
		return nil
	}
	var records []rawjson.Value
	for {
		v, err := d.ReadValue()
		if err != nil {
			break
		}
		records = append(records, v.Clone())
	}
	if len(records) == 0 {
		return nil
	}
	return rawjson.Array(records)
}

// nextPage returns what the link to the next page of a list has: a cursor or an offset.
func nextPage(header http.Header) (cursor, offset string) {
	for _, link := range header.Values("Link") {
		target, relation, found := bytes.Cut([]byte(link), []byte(">"))
		if !found || !bytes.Contains(relation, []byte(`rel="next"`)) || len(target) == 0 || target[0] != '<' {
			continue
		}
		if u, err := url.Parse(string(target[1:])); err == nil {
			return u.Query().Get("cursor"), u.Query().Get("offset")
		}
	}
	return "", ""
}
