package job

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// base64Field is the field with a body that is not JSON.
const base64Field = "body_base64"

// bytesType is the content type of a body from BodyBase64 if the headers have none.
const bytesType = "application/octet-stream"

// minEscaped is up to which size text is shown as text, in bytes as a JSON string,
// however much escaping lengthens it.
const minEscaped = 1 << 10

// readBase64 checks that a value is standard base64 with padding (RFC 4648,
// section 4). The size of the bytes is checked with the other parts of the request.
func readBase64(r *reader, f *Field, v rawjson.Value) {
	if _, ok := bytesOf(v); !ok {
		r.refuse(Pointer(f.Name), "must be a string of standard base64 with padding and without line breaks, as in AAECAw==")
	}
}

// GivenBody returns the value of body or of body_base64 as it is shown; nil if there is
// neither, or it is hidden.
func (s *Spec) GivenBody() rawjson.Value {
	switch {
	case s.Redact.Body:
		return nil
	case s.BodyBase64 != nil:
		return s.BodyBase64
	}
	return s.Body
}

// bytesOf decodes the value of body_base64. It returns false if it is not valid, and
// never nil bytes otherwise.
func bytesOf(v rawjson.Value) ([]byte, bool) {
	if v.Kind() != '"' {
		return nil, false
	}
	text := rawjson.Text(v)
	if strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return nil, false
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Strict().Decode(b, []byte(text))
	return b[:n], err == nil
}

// renderBytes renders a body that is sent as it is. Logs show it as text if it is
// UTF-8, else as base64.
func (o *Outgoing) renderBytes(s *Spec) error {
	if base64.StdEncoding.DecodedLen(len(s.BodyBase64)-len(`""`)) > MaxRequestBody+2 { // up to 2 bytes are padding
		return tooLarge(base64Field, "the body", MaxRequestBody)
	}
	sent, ok := bytesOf(s.BodyBase64)
	switch {
	case s.Redact.Body && isRedacted(s.BodyBase64): // without what is hidden
		o.body = redacted
		return nil
	case !ok:
		return nil // it was refused
	case len(sent) > MaxRequestBody:
		return tooLarge(base64Field, "the body", MaxRequestBody)
	}
	if !o.hasContentType() {
		o.ContentType = bytesType
	}
	if s.Redact.Body {
		o.Body, o.body = sent, redacted
		return nil
	}
	o.Body, o.body, o.encoded = sent, s.BodyBase64, true
	if utf8.Valid(sent) && escapedLen(sent) <= max(minEscaped, len(sent)*3/2) { // base64 is 4/3 as long
		o.body, o.encoded = rawjson.Quote(string(sent)), false
	}
	return nil
}

// IsText reports whether a body can be shown as text and written on a command line.
func IsText(body []byte) bool { return utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 }

func (o *Outgoing) hasContentType() bool {
	for _, f := range o.Header {
		if strings.EqualFold(f.Name, "content-type") {
			return true
		}
	}
	return false
}
