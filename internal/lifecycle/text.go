package lifecycle

import (
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// minPart is the least size in bytes of a text that a message refers to in a
// log instead of repeating it.
const minPart = 4096

// passage is a text that may be stored in a log.
type passage struct {
	text []byte
	log  uuid.UUID // uuid.Nil: not in a log
	from int       // its offset in the log's payload, in bytes
}

// text is a message body being written.
type text struct {
	bytes []byte
	parts []job.Part
}

// add appends a passage, or a reference if it is large and in a log.
func (t *text) add(p passage) {
	if p.log == uuid.Nil || len(p.text) < minPart {
		t.bytes = append(t.bytes, p.text...)
		return
	}
	t.parts = append(t.parts, job.Part{At: len(t.bytes), Log: p.log, From: p.from, To: p.from + len(p.text)})
}

func (t *text) string(s string) { t.bytes = append(t.bytes, s...) }
