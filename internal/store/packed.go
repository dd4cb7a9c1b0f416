package store

import (
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/textpack"
)

// MaxPacked is the size in bytes of the longest text that Pack packs. A query that
// needs the beginning or the end of a text reads a packed one whole.
const MaxPacked = textpack.MaxSize

// Pack returns a text as databases store it: in the column for text or, if that saves
// something, packed and with its size in bytes. Otherwise packed is nil and size 0.
func Pack(text rawjson.Value) (plain rawjson.Value, packed []byte, size int) {
	if packed = textpack.Pack(text); packed == nil {
		return text, nil, 0
	}
	return rawjson.Value{}, packed, len(text)
}

// damagedText stands for a packed text that can't be read. It is shown with the record,
// so that one damaged record stops neither a page nor the queue. As a job's arguments it
// is what the API promises, and an attempt of the job fails without a retry: names below
// .invalid never exist.
const damagedText = `{"method":"get","url":"https://damaged.invalid/","headers":{},"retries":0,"body":"the database has damaged what stood here"}`

// Unpack returns the text that Pack was given, or one that says that it is damaged. A
// plain text beside a packed one is newer: an earlier version, which knows nothing of
// packed texts, has replaced it.
func Unpack(plain rawjson.Value, packed []byte, size int) rawjson.Value {
	if packed == nil || len(plain) > 0 {
		return plain
	}
	text, err := textpack.Unpack(packed, size)
	if err != nil {
		return rawjson.Value(damagedText)
	}
	return text
}

// Cut returns the first characters of a text and, if it has more than those, the last
// ones.
func Cut(text rawjson.Value, first, last int) (head, tail string) {
	runes := []rune(string(text))
	if len(runes) <= first {
		return string(text), ""
	}
	return string(runes[:first]), string(runes[max(0, len(runes)-last):])
}
