package job

import (
	"net/url"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// HeaderField is one header line of an outgoing request.
type HeaderField struct{ Name, Value string }

// Outgoing is a job's request as it goes out, dynamic fields resolved.
type Outgoing struct {
	Method string // upper case
	URL    string // with the whole query
	Header []HeaderField
	Body   []byte // nil when there is none
	// ContentType is the one to send when Header has none; "" for none.
	ContentType string

	target, query, headers, body rawjson.Value // as logs show them
}

const formType = "application/x-www-form-urlencoded"

// Render makes the outgoing request of a spec.
func Render(s *Spec, d Dynamic) *Outgoing {
	o := &Outgoing{
		Method: strings.ToUpper(s.Method), URL: s.URL, Header: headerFields(s.Headers),
		target: rawjson.Quote(s.URL), query: emptyObject, headers: emptyObject, body: rawjson.Value(`null`),
	}
	if s.Headers != nil {
		o.headers = s.Headers
	}
	if s.Query != nil {
		o.renderQuery(s.Query, d)
	}
	if s.Body != nil {
		o.renderBody(s, d)
	}
	return o
}

func (o *Outgoing) renderQuery(query rawjson.Value, d Dynamic) {
	o.query = query
	encoded := rawjson.Text(query)
	if query.Kind() == '{' {
		o.query = d.Resolve(query)
		encoded = encodeForm(o.query)
	}
	o.URL = appendQuery(o.URL, encoded)
}

func appendQuery(target, query string) string {
	if query == "" {
		return target
	}
	target, fragment, hasFragment := strings.Cut(target, "#")
	switch {
	case !strings.Contains(target, "?"):
		target += "?"
	case !strings.HasSuffix(target, "?") && !strings.HasSuffix(target, "&"):
		target += "&"
	}
	target += query
	if hasFragment {
		target += "#" + fragment
	}
	return target
}

func (o *Outgoing) renderBody(s *Spec, d Dynamic) {
	mediaType := "application/json"
	given := false
	for _, f := range o.Header {
		if strings.EqualFold(f.Name, "content-type") {
			mediaType, given = f.Value, true
			break
		}
	}
	if !given {
		o.ContentType = mediaType
	}
	o.body = d.Resolve(s.Body)
	bare, _, _ := strings.Cut(mediaType, ";")
	isForm := strings.EqualFold(strings.TrimSpace(bare), formType)
	switch {
	case isForm && o.body.Kind() == '{':
		o.Body = []byte(encodeForm(o.body))
	case o.body.Kind() == '"' && !IsJSON(mediaType):
		o.Body = []byte(rawjson.Text(o.body))
	default:
		if s.Metadata {
			o.body = d.AddTo(o.body)
		}
		o.Body = []byte(o.body)
	}
}

func headerFields(headers rawjson.Value) []HeaderField {
	var fields []HeaderField
	for _, m := range rawjson.Members(headers) {
		values := []rawjson.Value{m.Value}
		if m.Value.Kind() == '[' {
			values = rawjson.Elements(m.Value)
		}
		for _, v := range values {
			fields = append(fields, HeaderField{m.Name, scalarText(v)})
		}
	}
	return fields
}

// scalarText gives a string's text, and any other value as it is written.
func scalarText(v rawjson.Value) string {
	if v.Kind() == '"' {
		return rawjson.Text(v)
	}
	return string(v)
}

// encodeForm encodes an object as a form or query: in the order given, arrays
// repeating the name, nested objects in brackets, null left out.
func encodeForm(object rawjson.Value) string {
	var b strings.Builder
	for _, m := range rawjson.Members(object) {
		writeForm(&b, url.QueryEscape(m.Name), m.Value)
	}
	return b.String()
}

func writeForm(b *strings.Builder, name string, v rawjson.Value) {
	switch v.Kind() {
	case 'n':
	case '{':
		for _, m := range rawjson.Members(v) {
			writeForm(b, name+"["+url.QueryEscape(m.Name)+"]", m.Value)
		}
	case '[':
		for _, e := range rawjson.Elements(v) {
			if e.Kind() == '[' || e.Kind() == '{' {
				e = rawjson.Quote(string(e)) // no spelling for lists of structures
			}
			writeForm(b, name, e)
		}
	default:
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name)
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(scalarText(v)))
	}
}

// AppendPayload appends the payload of a request log: exactly body, headers,
// query and url. Callbacks and webhooks show the same members.
func (o *Outgoing) AppendPayload(b []byte) []byte {
	b = append(b, `{"body":`...)
	b = append(b, o.body...)
	b = append(b, `,"headers":`...)
	b = append(b, o.headers...)
	b = append(b, `,"query":`...)
	b = append(b, o.query...)
	b = append(b, `,"url":`...)
	b = append(b, o.target...)
	return append(b, '}')
}
