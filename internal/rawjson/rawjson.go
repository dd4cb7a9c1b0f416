package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is one JSON value as text. Values made by this package are valid and
// compact, with strings in their shortest form.
type Value = jsontext.Value

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// ErrEmpty is returned by Read for a text without a value.
var ErrEmpty = errors.New("it is empty")

// Read checks that text is exactly one JSON value and returns it in compact
// form. The error says in words a person can act on what is wrong and where; it
// is a *DepthError for JSON that nests deeper than MaxDepth.
func Read(text []byte) (Value, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, ErrEmpty
	}
	if isDeep(text) {
		return nil, whyDeep(text)
	}
	out, err := jsontext.AppendFormat(make([]byte, 0, len(text)), text, jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, explain(err)
	}
	if nth := repeated(out); nth >= 0 {
		return nil, fmt.Errorf("it names a member twice, at byte %d", stringAt(text, nth))
	}
	return out, nil
}

// explain says in words what jsontext has found wrong.
func explain(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return err
	}
	where := "at byte " + strconv.FormatInt(syntax.ByteOffset, 10)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early")
	default:
		return fmt.Errorf("%w, %s", syntax.Err, where)
	}
}

// Members returns the members of an object in order; nil for anything else.
func Members(v Value) []Member {
	if v.Kind() != '{' {
		return nil
	}
	members := make([]Member, 0, 8)
	c := Walk(v)
	for c.Enter(); c.More(); {
		name := Text(c.Name())
		members = append(members, Member{name, c.Value()})
	}
	return members
}

// Elements returns the elements of an array; nil for anything else.
func Elements(v Value) []Value {
	if v.Kind() != '[' {
		return nil
	}
	var elements []Value
	c := Walk(v)
	for c.Enter(); c.More(); {
		elements = append(elements, c.Value())
	}
	return elements
}

// Get returns the member of an object; nil when v is no object or has no such member.
func Get(v Value, name string) Value {
	if v.Kind() != '{' {
		return nil
	}
	c := Walk(v)
	for c.Enter(); c.More(); {
		if Text(c.Name()) == name {
			return c.Value()
		}
		c.Value()
	}
	return nil
}

// Text returns the value of a string; "" for anything else.
func Text(v Value) string {
	if v.Kind() != '"' {
		return ""
	}
	if bytes.IndexByte(v, '\\') < 0 {
		if v = bytes.TrimSpace(v); len(v) >= 2 {
			return string(v[1 : len(v)-1])
		}
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(text)
}

// AppendText appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// Quote returns s as a JSON string.
func Quote(s string) Value { return AppendText(make([]byte, 0, len(s)+2), s) }

// Object joins members to an object.
func Object(members []Member) Value {
	size := 2
	for _, m := range members {
		size += len(m.Name) + len(m.Value) + 4
	}
	b := append(make([]byte, 0, size), '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendText(b, m.Name)
		b = append(b, ':')
		b = append(b, m.Value...)
	}
	return append(b, '}')
}

// Array joins elements to an array.
func Array(elements []Value) Value {
	b := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e...)
	}
	return append(b, ']')
}

// IsNull reports whether v is null or absent.
func IsNull(v Value) bool { return len(v) == 0 || v.Kind() == 'n' }
