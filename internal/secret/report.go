package secret

import (
	"bytes"
	"iter"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// apart separates the texts of a JSON value, which are UTF-8 without this byte.
const apart = 0xff

// json masks values in the strings, numbers and names of a JSON value, which stays
// JSON. What has none of them stays as it is written.
func (m *mask) json(v rawjson.Value) rawjson.Value {
	if len(v) == 0 {
		return v
	}
	// All texts are searched at once: each search of many small ones would cost as
	// much as that of a large one.
	texts := appendTexts(nil, v)
	shown := m.body(texts, false)
	if bytes.Equal(shown, texts) {
		return v
	}
	next, stop := iter.Pull(bytes.SplitSeq(shown, []byte{apart}))
	defer stop()
	return withTexts(v, func() string {
		text, _ := next()
		return string(text)
	})
}

// appendTexts appends the texts of a value in their order, each with apart after it.
func appendTexts(b []byte, v rawjson.Value) []byte {
	switch v.Kind() {
	case '"':
		b = append(append(b, rawjson.Text(v)...), apart)
	case '0':
		b = append(append(b, v...), apart)
	case '[':
		for _, e := range rawjson.Elements(v) {
			b = appendTexts(b, e)
		}
	case '{':
		for _, member := range rawjson.Members(v) {
			b = appendTexts(append(append(b, member.Name...), apart), member.Value)
		}
	}
	return b
}

// withTexts returns a value with other texts, which next returns in the order of
// appendTexts.
func withTexts(v rawjson.Value, next func() string) rawjson.Value {
	switch v.Kind() {
	case '"':
		if text := next(); text != rawjson.Text(v) {
			return rawjson.Quote(text)
		}
	case '0':
		if text := next(); text != string(v) {
			return rawjson.Quote(text)
		}
	case '[':
		elements := rawjson.Elements(v)
		for i, e := range elements {
			elements[i] = withTexts(e, next)
		}
		return rawjson.Array(elements)
	case '{':
		members := rawjson.Members(v)
		kept, named := members[:0], make(map[string]bool, len(members))
		for _, member := range members {
			shown := rawjson.Member{Name: next(), Value: withTexts(member.Value, next)}
			if !named[shown.Name] { // two names may have become one
				named[shown.Name] = true
				kept = append(kept, shown)
			}
		}
		return rawjson.Object(kept)
	}
	return v
}

// reason masks values in a text that may have been cut at job.MaxReason characters.
func (m *mask) reason(text *string) *string {
	if text == nil {
		return nil
	}
	shown := string(m.body([]byte(*text), utf8.RuneCountInString(*text) == job.MaxReason))
	return &shown
}
