package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

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

// Read checks that text is exactly one JSON value and gives it in compact
// form. The error says in words a person can act on what is wrong and where.
func Read(text []byte) (Value, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, ErrEmpty
	}
	out, err := jsontext.AppendFormat(make([]byte, 0, len(text)), text)
	if err == nil {
		return out, nil
	}
	return nil, explain(err, text)
}

func explain(err error, text []byte) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return err
	}
	where := "at byte " + strconv.FormatInt(syntax.ByteOffset, 10)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("it names a member twice, %s", where)
	default:
		return fmt.Errorf("%w, %s", syntax.Err, where)
	}
}

// Members gives the members of an object in order; nil for anything else.
func Members(v Value) []Member {
	if v.Kind() != '{' {
		return nil
	}
	dec := newDecoder(v)
	defer dec.release()
	members := make([]Member, 0, 8)
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return members
		}
		text := name.String()
		value, err := dec.next(v)
		if err != nil {
			return members
		}
		members = append(members, Member{text, value})
	}
	return members
}

// Elements gives the elements of an array; nil for anything else.
func Elements(v Value) []Value {
	if v.Kind() != '[' {
		return nil
	}
	dec := newDecoder(v)
	defer dec.release()
	var elements []Value
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for kind := dec.PeekKind(); kind != ']' && kind != 0; kind = dec.PeekKind() {
		value, err := dec.next(v)
		if err != nil {
			return elements
		}
		elements = append(elements, value)
	}
	return elements
}

// decoder reads a value that Read has checked, so names are not checked again.
type decoder struct {
	jsontext.Decoder
	from bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func newDecoder(v Value) *decoder {
	d := decoders.Get().(*decoder)
	d.from = *bytes.NewBuffer(v)
	d.Reset(&d.from, jsontext.AllowDuplicateNames(true))
	return d
}

func (d *decoder) release() {
	d.from = bytes.Buffer{}
	decoders.Put(d)
}

// next reads a value as a part of v, which is not copied.
func (d *decoder) next(v Value) (Value, error) {
	value, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := d.InputOffset()
	return v[end-int64(len(value)) : end : end], nil
}

// Get gives the member of an object; nil when v is no object or has no such member.
func Get(v Value, name string) Value {
	for _, m := range Members(v) {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Lookup follows a path of member names and array indexes; nil when nothing is there.
func Lookup(v Value, path []string) Value {
	for _, step := range path {
		switch v.Kind() {
		case '{':
			v = Get(v, step)
		case '[':
			v = element(v, step)
		default:
			return nil
		}
		if v == nil {
			return nil
		}
	}
	return v
}

func element(v Value, index string) Value {
	i, err := strconv.Atoi(index)
	if err != nil || strconv.Itoa(i) != index {
		return nil
	}
	if elements := Elements(v); i >= 0 && i < len(elements) {
		return elements[i]
	}
	return nil
}

// Text gives the value of a string; "" for anything else.
func Text(v Value) string {
	if v.Kind() != '"' {
		return ""
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

// Quote gives s as a JSON string.
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
