package rawjson

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Cursor walks over a value in one pass: what it reads, it reads once, however
// deep the value nests. It expects text that Read has accepted. In any other
// text it finds less than is there, but it always comes to an end.
type Cursor struct {
	v  Value
	at int
}

// Walk returns a cursor that stands at the beginning of v.
func Walk(v Value) *Cursor {
	c := &Cursor{v: v}
	c.skipSpace()
	return c
}

// Kind returns the kind of the value that the cursor stands at; 0 at the end.
func (c *Cursor) Kind() jsontext.Kind { return c.v[c.at:].Kind() }

// Enter steps into the array or object that the cursor stands at.
func (c *Cursor) Enter() { c.at = min(c.at+1, len(c.v)) }

// More reports whether another element or member follows in the array or object
// that was entered last, and moves to it. When none follows, it steps out.
func (c *Cursor) More() bool {
	c.skipSpace()
	if c.at < len(c.v) && c.v[c.at] == ',' {
		c.at++
		c.skipSpace()
	}
	if c.at >= len(c.v) {
		return false
	}
	if b := c.v[c.at]; b == ']' || b == '}' {
		c.at++
		return false
	}
	return true
}

// Name reads the name of the member that the cursor stands at, a JSON string,
// and moves to the member's value.
func (c *Cursor) Name() Value {
	begin := c.at
	c.at = textEnd(c.v, begin)
	name := c.v[begin:c.at:c.at]
	c.skipSpace()
	if c.at < len(c.v) && c.v[c.at] == ':' {
		c.at++
		c.skipSpace()
	}
	return name
}

// Value reads the value that the cursor stands at, whole. It is a part of the
// text and not copied.
func (c *Cursor) Value() Value {
	begin := c.at
	if begin >= len(c.v) {
		return nil
	}
	switch c.v[begin] {
	case '"':
		c.at = textEnd(c.v, begin)
	case '{', '[':
		c.at = containerEnd(c.v, begin)
	default:
		for c.at++; c.at < len(c.v) && !endsScalar(c.v[c.at]); c.at++ {
		}
	}
	return c.v[begin:c.at:c.at]
}

// First returns the text of the value at the beginning of text, which need not be
// valid JSON: it ends where a valid value would end. It is empty if text begins with
// white space, a comma or a closing bracket.
func First(text []byte) []byte {
	c := &Cursor{v: text}
	if len(text) == 0 || endsScalar(text[0]) {
		return nil
	}
	return c.Value()
}

func (c *Cursor) skipSpace() { c.at = spaceEnd(c.v, c.at) }

func spaceEnd(v Value, at int) int {
	for at < len(v) && (v[at] == ' ' || v[at] == '\n' || v[at] == '\t' || v[at] == '\r') {
		at++
	}
	return at
}

func endsScalar(b byte) bool {
	switch b {
	case ',', ']', '}', ' ', '\n', '\t', '\r':
		return true
	}
	return false
}

// textEnd returns where the string that begins at begin ends.
func textEnd(v Value, begin int) int {
	for at := begin + 1; at < len(v); at++ {
		switch v[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(v)
}

// containerEnd returns where the array or object that begins at begin ends.
func containerEnd(v Value, begin int) int {
	depth := 0
	for at := begin; at < len(v); at++ {
		switch v[at] {
		case '"':
			at = textEnd(v, at) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return len(v)
}

// Strings returns where each string in v begins and ends, at any depth and in
// order, without the names of members.
func Strings(v Value) iter.Seq2[int, int] {
	return func(yield func(begin, end int) bool) {
		for at := 0; at < len(v); at++ {
			if v[at] != '"' {
				continue
			}
			end := textEnd(v, at)
			if after := spaceEnd(v, end); (after == len(v) || v[after] != ':') && !yield(at, end) {
				return
			}
			at = end - 1
		}
	}
}
