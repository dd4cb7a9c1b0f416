package job

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// An earlier version stored the payload of a request log without the value of an absent
// query, if $previous was sent but not shown. Valid JSON never has this text: it can't
// stand inside a string without escapes.
var (
	withoutQuery = []byte(`,"query":,"url":`)
	emptyQuery   = []byte(`,"query":{},"url":`)
)

// maxUnreadable is how many bytes of a damaged payload are shown.
const maxUnreadable = 4 << 10

// Complete returns a stored payload, or the body of a delivery, with the query that an
// earlier version left out. It returns other values as they are.
func Complete(v rawjson.Value) rawjson.Value {
	if !bytes.Contains(v, withoutQuery) {
		return v
	}
	return bytes.ReplaceAll(v, withoutQuery, emptyQuery)
}

// readable returns the payload of a log as valid JSON, so that a damaged one does not
// make the whole list that it is part of unreadable. Of a payload that is damaged
// otherwise, the object returned has the first 4 KiB as the string unreadable.
func readable(payload rawjson.Value) rawjson.Value {
	payload = Complete(payload)
	if payload.IsValid(jsontext.AllowDuplicateNames(true)) {
		return payload
	}
	shown := payload[:min(len(payload), maxUnreadable)]
	return append(rawjson.AppendText([]byte(`{"unreadable":`), string(shown)), '}')
}
