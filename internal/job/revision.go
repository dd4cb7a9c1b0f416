package job

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Limits of the history of a record.
const (
	// MaxRevisions is how many revisions of a record are kept, the latest.
	MaxRevisions = 50
	// maxShown is the maximum length of a value in the history, in bytes. A longer
	// one is replaced by a string with its beginning.
	maxShown = 160
	// maxDifference is the maximum length of the difference of a revision, in bytes;
	// what exceeds it is left out.
	maxDifference = 4 << 10
)

// FieldChange is a field that a change sets, removes or replaces.
type FieldChange struct {
	// Path is a JSON pointer to the field: "/url". It is "/scheduled_at" for a due
	// time.
	Path string
	// From and To are the values; null if there is none.
	From, To rawjson.Value
}

// Revision is an edit of a job or a schedule.
type Revision struct {
	Record  uuid.UUID // the id of the job or the schedule
	Owner   Owner
	Number  int64 // the revision that the edit made; 2 for the first edit
	At      time.Time
	By      rawjson.Value // see AppendActor
	Changes rawjson.Value // see AppendChanges; long values are shortened
}

// NewRevision returns the revision of a record that an edit makes.
func NewRevision(record uuid.UUID, owner Owner, number int64, at time.Time, by Actor, changes []FieldChange) Revision {
	return Revision{Record: record, Owner: owner, Number: number, At: at, By: AppendActor(nil, by), Changes: shortened(changes)}
}

// AppendChanges appends a difference: [{"path", "from", "to"}, …].
func AppendChanges(b []byte, changes []FieldChange) []byte {
	b = append(b, '[')
	for i, c := range changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendChange(b, c)
	}
	return append(b, ']')
}

func appendChange(b []byte, c FieldChange) []byte {
	b = rawjson.AppendText(append(b, `{"path":`...), c.Path)
	b = appendValue(append(b, `,"from":`...), c.From)
	b = appendValue(append(b, `,"to":`...), c.To)
	return append(b, '}')
}

func appendValue(b []byte, v rawjson.Value) []byte {
	if len(v) == 0 {
		return append(b, null...)
	}
	return append(b, v...)
}

// shortened returns a difference with long values shortened, within maxDifference.
func shortened(changes []FieldChange) rawjson.Value {
	b := []byte{'['}
	for _, c := range changes {
		c.From, c.To = shown(c.From), shown(c.To)
		at := len(b)
		if at > 1 {
			b = append(b, ',')
		}
		if b = appendChange(b, c); len(b) >= maxDifference {
			b = b[:at]
			break
		}
	}
	return append(b, ']')
}

// shown returns a value as the history shows it.
func shown(v rawjson.Value) rawjson.Value {
	if len(v) <= maxShown {
		return v
	}
	text := string(v)
	if v.Kind() == '"' {
		text = rawjson.Text(v)
	}
	short := cut(text, maxShown/2) + "… (" + strconv.Itoa(len(v)) + " bytes)"
	return rawjson.Quote(short)
}

// cut returns the longest beginning of a text of at most n bytes, in whole code
// points.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.ToValidUTF8(text[:n], "\uFFFD")
}

// AppendRevision appends the record of a revision.
func AppendRevision(b []byte, r *Revision) []byte {
	b = strconv.AppendInt(append(b, `{"revision":`...), r.Number, 10)
	b = appendTime(append(b, `,"changed_at":`...), r.At, layoutMicros)
	b = appendValue(append(b, `,"by":`...), r.By)
	b = appendValue(append(b, `,"changes":`...), r.Changes)
	return append(b, '}')
}
