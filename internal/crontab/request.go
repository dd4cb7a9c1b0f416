package crontab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// request is what a command sends.
type request struct {
	method  string // "" stands for GET, or for POST with a body
	url     string
	headers []rawjson.Member // each value a list of strings
	body    []string         // the parts of a body, joined by & for curl
	toQuery bool             // the body's parts go to the query
	retries int              // -1 if not given
	timeout float64          // in seconds; 0 if not given
}

// read returns the request that a command sends.
func read(words []string) (*request, error) {
	var t tool
	switch name := path.Base(words[0]); name {
	case "curl":
		t = curl
	case "wget":
		t = wget
	default:
		return nil, fmt.Errorf("runs %s; only lines that call curl or wget become schedules", shorten(name))
	}
	r := &request{retries: -1}
	if err := t.parse(r, words[1:]); err != nil {
		return nil, err
	}
	if r.url == "" {
		return nil, errors.New("names no url")
	}
	if r.verb() == "HEAD" {
		return nil, errors.New("sends a HEAD request, which this service can't; write it as a GET")
	}
	if strings.ContainsAny(r.url, "[]{}") {
		return nil, errors.New("has brackets or braces in its url, which curl may expand to several; percent-encode them")
	}
	if !strings.Contains(r.url, "://") {
		r.url = "http://" + r.url // as both tools do
	}
	if r.toQuery && len(r.body) > 0 {
		if err := r.moveToQuery(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// moveToQuery appends the parts of the body to the url.
func (r *request) moveToQuery() error {
	u, err := url.Parse(r.url)
	if err != nil {
		return errors.New("has an invalid url")
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += strings.Join(r.body, "&")
	r.url, r.body = u.String(), nil
	return nil
}

// verb returns the request's method, in upper case.
func (r *request) verb() string {
	switch {
	case r.method != "":
		return strings.ToUpper(r.method)
	case r.body != nil:
		return "POST"
	}
	return "GET"
}

// members returns the request's fields.
func (r *request) members() []rawjson.Member {
	members := []rawjson.Member{{Name: "method", Value: rawjson.Quote(r.verb())}, {Name: "url", Value: rawjson.Quote(r.url)}}
	add := func(name string, v rawjson.Value) { members = append(members, rawjson.Member{Name: name, Value: v}) }
	if r.body != nil && !r.has("content-type") {
		r.header("content-type", "application/x-www-form-urlencoded")
	}
	if len(r.headers) > 0 {
		add("headers", rawjson.Object(r.headerMembers()))
	}
	if r.body != nil {
		body, metadata := r.value()
		add("body", body)
		if metadata {
			add("metadata", rawjson.Value("false"))
		}
	}
	if r.retries >= 0 {
		add("retries", rawjson.Value(strconv.Itoa(r.retries)))
	}
	if r.timeout > 0 {
		add("timeout", rawjson.Value(strconv.FormatFloat(r.timeout, 'f', -1, 64)))
	}
	return members
}

// dynamic matches a body that the service would replace.
var dynamic = regexp.MustCompile(`^\$+(job|state|previous)(\.|$)`)

// value returns the body as the service takes it, and whether metadata must be
// turned off so that it is sent unchanged.
func (r *request) value() (v rawjson.Value, metadata bool) {
	text := strings.Join(r.body, "&")
	if r.isJSON() {
		if v, err := rawjson.Read([]byte(text)); err == nil {
			return v, v.Kind() == '{'
		}
	}
	if dynamic.MatchString(text) {
		text = "$" + text
	}
	return rawjson.Quote(text), false
}

func (r *request) isJSON() bool {
	for _, m := range r.headers {
		if strings.EqualFold(m.Name, "content-type") {
			media, _, _ := strings.Cut(rawjson.Text(rawjson.Elements(m.Value)[0]), ";")
			return strings.EqualFold(strings.TrimSpace(media), "application/json")
		}
	}
	return false
}

func (r *request) has(name string) bool {
	for _, m := range r.headers {
		if strings.EqualFold(m.Name, name) {
			return true
		}
	}
	return false
}

// header adds a header. Repeated names get a list of values.
func (r *request) header(name, value string) {
	for i, m := range r.headers {
		if strings.EqualFold(m.Name, name) {
			r.headers[i].Value = rawjson.Array(append(rawjson.Elements(m.Value), rawjson.Quote(value)))
			return
		}
	}
	r.headers = append(r.headers, rawjson.Member{Name: name, Value: rawjson.Array([]rawjson.Value{rawjson.Quote(value)})})
}

// headerMembers returns the headers; a single value is a string.
func (r *request) headerMembers() []rawjson.Member {
	members := make([]rawjson.Member, len(r.headers))
	for i, m := range r.headers {
		members[i] = m
		if values := rawjson.Elements(m.Value); len(values) == 1 {
			members[i].Value = values[0]
		}
	}
	return members
}

var notInKey = regexp.MustCompile(`[^a-z0-9]+`)

// key returns a key for the request. It doesn't depend on the time, so that a
// line with a new time changes its schedule. Further lines with the same
// request get a number.
func (p *parser) key(r *request) string {
	readable := r.url
	if u, err := url.Parse(r.url); err == nil {
		readable = u.Host + u.Path
	}
	readable = strings.Trim(notInKey.ReplaceAllString(strings.ToLower(readable), "-"), "-")
	sum := sha256.Sum256(rawjson.Object(r.members()))
	key := readable[:min(len(readable), 100)] + "-" + hex.EncodeToString(sum[:4])
	p.keys[key]++
	if n := p.keys[key]; n > 1 {
		key += "-" + strconv.Itoa(n)
	}
	return key
}

// shorten bounds text that is quoted in an error.
func shorten(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
