package sqlite

import (
	"fmt"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// storedText is a text in the columns args or payload, packed, and size.
type storedText struct {
	plain  rawjson.Value
	packed []byte
	size   any // null unless packed
}

func pack(text rawjson.Value) storedText {
	plain, packed, size := store.Pack(text)
	if packed == nil {
		return storedText{plain: plain}
	}
	return storedText{plain, packed, size}
}

// packable returns the text in the next three columns: the plain text, the packed one
// and its size.
func (c *columns) packable() rawjson.Value {
	plain, packed := c.json(), c.blob()
	return store.Unpack(plain, packed, c.int())
}

// The sizes in bytes of texts, whether packed or not.
const (
	argsSize    = `coalesce(size, octet_length(args))`
	jobArgsSize = `coalesce(j.size, octet_length(j.args))`
	payloadSize = `coalesce(l.size, octet_length(l.payload))`
)

// cutText selects the first characters of the payload of a log and, if it has more
// than those, the last ones, for [columns.cut]; without last, only the first. A packed
// payload is read whole.
func cutText(log, first, last string) string {
	tail := `''`
	if last != "" {
		tail = fmt.Sprintf(`CASE WHEN length(%[1]s.payload) > %[2]s THEN substr(%[1]s.payload, -%[3]s) ELSE '' END`, log, first, last)
	}
	return fmt.Sprintf(`substr(%[1]s.payload, 1, %[2]s), %[3]s, %[1]s.packed, %[1]s.size`, log, first, tail)
}

// cut reads what cutText selects.
func (c *columns) cut(first, last int) (head, tail string) {
	head, tail = c.text(), c.text()
	packed, size := c.blob(), c.int()
	if packed == nil {
		return head, tail
	}
	return store.Cut(store.Unpack(nil, packed, size), first, last)
}

// reservedFor returns what a row has in place of what the job does not have yet: a state
// other than available, which takes a byte more, and the times of its attempt and end,
// of eight bytes each. A row that grew would split its page, since pages are filled
// when jobs are created.
func reservedFor(j *job.Job) []byte {
	switch {
	case j.State.Final():
		return nil
	case j.AttemptedAt.IsZero():
		return make([]byte, 17)
	}
	return make([]byte, 8)
}
