package workflow

import (
	"encoding/base64"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// AppendSteps appends the list of steps as the SDK reads it: each with its message, its
// call type and its body in base64.
func AppendSteps(b []byte, steps []*Step) []byte {
	b = append(b, '[')
	for i, s := range steps {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(append(b, `{"messageId":`...), MessageID(s.Message))
		b = rawjson.AppendText(append(b, `,"callType":`...), s.CallType())
		b = base64.StdEncoding.AppendEncode(append(b, `,"body":"`...), s.Body)
		b = append(b, `"}`...)
	}
	return append(b, ']')
}

// CallType returns what the SDK calls the kind of a record.
func (s *Step) CallType() string {
	if s.Kind == Call {
		return "toCallback"
	}
	return "step"
}

// MessageID returns the id of a job as the SDK knows it.
func MessageID(id uuid.UUID) string { return "msg_" + id.String() }

// ListSize returns about how many bytes AppendSteps makes of steps with so many bodies.
func ListSize(steps int, bytes int64) int { return steps*100 + int(bytes)*4/3 }
