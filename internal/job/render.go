package job

import (
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// HeaderField is one header line of an outgoing request.
type HeaderField struct{ Name, Value string }

// Outgoing is a job's request as it is sent, with dynamic fields resolved.
type Outgoing struct {
	Method string // upper case
	URL    string // with the whole query
	Header []HeaderField
	Body   []byte // nil when there is none
	// ContentType is sent if Header has none; "" sends none.
	ContentType string

	target, query, headers, body rawjson.Value // as logs show them
	encoded                      bool          // body is base64
}

const formType = "application/x-www-form-urlencoded"

// Unrendered returns the outgoing request of a spec with only its method and URL,
// for logs and deliveries about a request that was not rendered.
func Unrendered(s *Spec) *Outgoing {
	return &Outgoing{
		Method: strings.ToUpper(s.Method), URL: s.URL,
		target: rawjson.Quote(s.URL), query: emptyObject, headers: emptyObject, body: null,
	}
}

// Render returns the outgoing request of a spec. No part of it ever uses more
// memory than the budget, whatever the spec and the dynamic fields contain, and
// the work is linear in their size. Render omits a part that would be larger and
// returns an *OversizeError for the first such part; do not send that request.
func Render(s *Spec, d Dynamic) (*Outgoing, error) {
	o := Unrendered(s)
	return o, firstError(o.renderURL(s, d), o.renderHeaders(s), o.renderBody(s, d))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *Outgoing) renderURL(s *Spec, d Dynamic) error {
	query, encoded := s.Query, []byte(nil)
	fits := true
	switch query.Kind() {
	case '{':
		if query, fits = d.Resolve(query, MaxRequestQuery); !fits {
			return tooLarge("query", "the query as JSON", MaxRequestQuery)
		}
		encoded, fits = encodeForm(query, MaxRequestURL)
	case '"':
		if fits = len(query) <= MaxRequestQuery; fits {
			// A fragment would not be sent.
			encoded = []byte(strings.ReplaceAll(rawjson.Text(query), "#", "%23"))
		}
	default:
		query = emptyObject
	}
	target := bounded{most: MaxRequestURL, over: !fits}
	appendQuery(&target, s.URL, encoded)
	if target.over {
		return tooLarge("query", "the URL with its query", MaxRequestURL)
	}
	o.URL, o.query = string(target.b), query
	if d.Conceals && s.Query.Kind() == '{' {
		if o.query, fits = d.shown().Resolve(s.Query, MaxRequestQuery); !fits {
			o.query = emptyObject
		}
	}
	return nil
}

// appendQuery appends the URL target with query added to the query it has.
func appendQuery(out *bounded, target string, query []byte) {
	target, fragment, hasFragment := strings.Cut(target, "#")
	add(out, target)
	if len(query) > 0 {
		switch {
		case !strings.Contains(target, "?"):
			add(out, "?")
		case !strings.HasSuffix(target, "?") && !strings.HasSuffix(target, "&"):
			add(out, "&")
		}
		add(out, query)
	}
	if hasFragment {
		add(out, "#")
		add(out, fragment)
	}
}

// renderHeaders renders the header fields; an array repeats the name.
func (o *Outgoing) renderHeaders(s *Spec) error {
	if s.Headers == nil {
		return nil
	}
	// As JSON, headers are at most twice as large as when sent, except for empty
	// arrays.
	if len(s.Headers) > 2*MaxRequestHeaders {
		return tooLarge("headers", "the headers", MaxRequestHeaders)
	}
	var fields []HeaderField
	size := 0
	take := func(name string, value rawjson.Value) {
		f := HeaderField{name, scalarText(value)}
		size += len(f.Name) + len(": ") + len(f.Value) + len("\r\n")
		fields = append(fields, f)
	}
	c := rawjson.Walk(s.Headers)
	for c.Enter(); size <= MaxRequestHeaders && c.More(); {
		name := rawjson.Text(c.Name())
		if c.Kind() != '[' {
			take(name, c.Value())
			continue
		}
		for c.Enter(); size <= MaxRequestHeaders && c.More(); {
			take(name, c.Value())
		}
	}
	if size > MaxRequestHeaders {
		return tooLarge("headers", "the headers", MaxRequestHeaders)
	}
	o.Header, o.headers = fields, s.Redact.shownHeaders(s.Headers)
	return nil
}

func (o *Outgoing) renderBody(s *Spec, d Dynamic) error {
	if s.BodyBase64 != nil {
		return o.renderBytes(s)
	}
	if s.Body == nil {
		return nil
	}
	mediaType := "application/json"
	given := false
	for _, f := range o.Header {
		if strings.EqualFold(f.Name, "content-type") {
			mediaType, given = f.Value, true
			break
		}
	}
	body, sent, fits := s.resolveBody(d, mediaType)
	if !fits {
		return tooLarge("body", "the body", MaxRequestBody)
	}
	if !given {
		o.ContentType = mediaType
	}
	o.body, o.Body = body, sent
	switch {
	case s.Redact.Body:
		o.body = redacted
	case d.Conceals:
		if o.body, _, fits = s.resolveBody(d.shown(), mediaType); !fits {
			o.body = redacted
		}
	}
	return nil
}

// resolveBody returns the body with its dynamic fields resolved, and what is sent of it.
func (s *Spec) resolveBody(d Dynamic, mediaType string) (body rawjson.Value, sent []byte, fits bool) {
	if body, fits = d.Resolve(s.Body, MaxRequestBody); !fits {
		return nil, nil, false
	}
	sent = body
	bare, _, _ := strings.Cut(mediaType, ";")
	isForm := strings.EqualFold(strings.TrimSpace(bare), formType)
	switch {
	case isForm && body.Kind() == '{':
		sent, fits = encodeForm(body, MaxRequestBody)
	case body.Kind() == '"' && !IsJSON(mediaType):
		sent = []byte(rawjson.Text(body))
	case s.Metadata:
		body, fits = d.AddTo(body, MaxRequestBody)
		sent = body
	}
	return body, sent, fits
}

// AppendPayload appends the payload of a request log: exactly body, headers,
// query and url, and after the body encoding if the body is shown as base64.
// Callbacks and webhooks show the same members.
func (o *Outgoing) AppendPayload(b []byte) []byte {
	b = append(b, `{"body":`...)
	b = append(b, o.body...)
	if o.encoded {
		b = append(b, `,"encoding":"base64"`...)
	}
	b = append(b, `,"headers":`...)
	b = append(b, o.headers...)
	b = append(b, `,"query":`...)
	b = append(b, o.query...)
	b = append(b, `,"url":`...)
	b = append(b, o.target...)
	return append(b, '}')
}
