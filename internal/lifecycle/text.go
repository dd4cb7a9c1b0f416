package lifecycle

import (
	"bytes"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
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

// shared is a passage that stands in a job's args, too: from byte at on. The zero
// shared is none.
type shared struct {
	passage
	at int
}

// bodyInLog is where the body stands in the payload of a request's log.
const bodyInLog = len(`{"body":`)

// share finds the part of a job's args that the payload of its request's log
// repeats: the body, up to where references in it were resolved or members added.
func share(args, body rawjson.Value, payload []byte, log uuid.UUID) shared {
	n, most := 0, min(len(body), len(payload)-bodyInLog)
	for n < most && body[n] == payload[bodyInLog+n] {
		n++
	}
	at := -1
	if n >= minPart {
		at = bytes.Index(args, body)
	}
	if at < 0 {
		return shared{}
	}
	return shared{passage{text: payload[bodyInLog : bodyInLog+n], log: log, from: bodyInLog}, at}
}

// text is a message being written.
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
