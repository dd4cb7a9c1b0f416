package listen

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/punctual-dev/punctual/internal/job"
)

// Subprotocol is the WebSocket subprotocol that both sides must support.
const Subprotocol = "punctual.listen.v1"

// Type is the type of a message.
type Type string

// The types of messages. The service sends the first four, listeners the others.
const (
	Ready    Type = "ready"    // requests are sent to this listener from now on
	Request  Type = "request"  // a request to answer
	Cancel   Type = "cancel"   // nobody waits for the response any more
	Drain    Type = "drain"    // the service stops: connect again, and answer what is under way
	Response Type = "response" // the response to a request
	Failure  Type = "failure"  // there is no response to a request
)

// Message is a message between the service and a listener. It is sent as a binary
// WebSocket message: the length of the JSON of this struct, as four bytes in network
// order, the JSON, and the body.
type Message struct {
	Type Type `json:"type"`
	// ID names a request on its connection; the answer has the same.
	ID uint64 `json:"id,omitempty"`

	Method string `json:"method,omitempty"`
	// Base and Path are the URL of the request. Path is what to call at the
	// developer's machine, with the query.
	Base string `json:"base,omitempty"`
	Path string `json:"path,omitempty"`
	// TimeoutMS is how many milliseconds the attempt waits for the response; 0 if
	// there is no limit.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`

	Status int         `json:"status,omitempty"`
	Header [][2]string `json:"header,omitempty"`

	Kind  job.Kind `json:"kind,omitempty"`  // of a failure
	Error string   `json:"error,omitempty"` // a sentence, of a failure

	Body []byte `json:"-"`
}

const (
	// MaxBody is how many bytes of a response's body a listener may send. The last
	// one shows that the body is longer than what is kept.
	MaxBody = job.MaxResponseBody + 1
	// maxHeader bounds the JSON of an answer, and maxAnswer the whole message.
	maxHeader = 512 << 10
	maxAnswer = 4 + maxHeader + MaxBody
	// maxFields and maxFieldBytes bound the header of a response: that of targets is
	// bounded in the same way.
	maxFields     = 1000
	maxFieldBytes = 256 << 10
	// maxError is how many characters of a listener's sentence are kept.
	maxError = 500
)

// Encode returns a message as it is sent.
func (m *Message) Encode() ([]byte, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 4, 4+len(text)+len(m.Body))
	binary.BigEndian.PutUint32(b, uint32(len(text)))
	return append(append(b, text...), m.Body...), nil
}

var errMessage = errors.New("what arrived is not a message")

// Decode parses a message. Its Body is a part of b.
func Decode(b []byte) (*Message, error) {
	if len(b) < 4 {
		return nil, errMessage
	}
	size := binary.BigEndian.Uint32(b)
	if uint64(size) > uint64(len(b)-4) {
		return nil, errMessage
	}
	m := &Message{}
	if err := json.Unmarshal(b[4:4+size], m); err != nil {
		return nil, errMessage
	}
	if m.Body = b[4+size:]; len(m.Body) == 0 {
		m.Body = nil
	}
	return m, nil
}

// Fields returns a header as a message has it, ordered by name.
func Fields(h http.Header) [][2]string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	var fields [][2]string
	for _, name := range names {
		for _, value := range h[name] {
			fields = append(fields, [2]string{name, value})
		}
	}
	return fields
}

// answerKinds are the failures that a listener may report.
var answerKinds = []job.Kind{job.KindConnect, job.KindTimeout, job.KindClosed, job.KindProtocol}

// decodeAnswer parses and checks what a listener has sent.
func decodeAnswer(b []byte) (*Message, error) {
	if len(b) >= 4 && binary.BigEndian.Uint32(b) > maxHeader {
		return nil, errMessage
	}
	m, err := Decode(b)
	if err != nil {
		return nil, err
	}
	switch m.Type {
	case Response:
		if m.Status < 200 || m.Status > 999 || len(m.Body) > MaxBody || !validFields(m.Header) {
			return nil, errMessage
		}
	case Failure:
		if !slices.Contains(answerKinds, m.Kind) || len(m.Body) > 0 {
			return nil, errMessage
		}
		m.Error = sentence(m.Error)
	default:
		return nil, errMessage
	}
	return m, nil
}

func validFields(fields [][2]string) bool {
	size := 0
	for _, f := range fields {
		if size += len(f[0]) + len(f[1]); !httpguts.ValidHeaderFieldName(f[0]) || !httpguts.ValidHeaderFieldValue(f[1]) {
			return false
		}
	}
	return len(fields) <= maxFields && size <= maxFieldBytes
}

// sentence bounds a listener's sentence and replaces what is not printable.
func sentence(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if runes := []rune(text); len(runes) > maxError {
		text = string(runes[:maxError])
	}
	return text
}
