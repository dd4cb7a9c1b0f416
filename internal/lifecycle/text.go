package lifecycle

import (
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// minPart is from how many bytes on a message refers to what a log has already
// instead of repeating it.
const minPart = 4096

// passage is a text that a log may have stored.
type passage struct {
	text []byte
	log  uuid.UUID // uuid.Nil: none has
	from int       // where the text stands in the log's payload, in bytes
}

// text is a message being written.
type text struct {
	bytes []byte
	parts []job.Part
}

// add appends a passage, or a reference to it when it is large.
func (t *text) add(p passage) {
	if p.log == uuid.Nil || len(p.text) < minPart {
		t.bytes = append(t.bytes, p.text...)
		return
	}
	t.parts = append(t.parts, job.Part{At: len(t.bytes), Log: p.log, From: p.from, To: p.from + len(p.text)})
}

func (t *text) string(s string) { t.bytes = append(t.bytes, s...) }
