package harness

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON is a JSON text as it came: member order and number literals are kept.
// The zero value stands for "not there".
type JSON []byte

// Get follows a dotted path of member names and array indices. A step that
// leads nowhere returns the zero value.
func (j JSON) Get(path string) JSON {
	for step := range strings.SplitSeq(path, ".") {
		j = j.step(step)
	}
	return j
}

// Member returns the member of an object by its name, which may contain dots.
func (j JSON) Member(name string) JSON { return j.step(name) }

func (j JSON) step(name string) JSON {
	index, err := strconv.Atoi(name)
	if err != nil {
		index = -1
	}
	var found JSON
	j.each(func(i int, key string, value JSON) bool {
		if j.kind() == '{' && key == name || j.kind() == '[' && i == index {
			found = value
			return false
		}
		return true
	})
	return found
}

// each visits the members or elements of a value until visit says stop.
func (j JSON) each(visit func(i int, key string, value JSON) bool) {
	kind := j.kind()
	if kind != '{' && kind != '[' {
		return
	}
	d := jsontext.NewDecoder(bytes.NewReader(j), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		return
	}
	for i := 0; d.PeekKind() != '}' && d.PeekKind() != ']'; i++ {
		key := ""
		if kind == '{' {
			token, err := d.ReadToken()
			if err != nil {
				return
			}
			key = token.String()
		}
		value, err := d.ReadValue()
		if err != nil || !visit(i, key, JSON(value.Clone())) {
			return
		}
	}
}

func (j JSON) kind() byte {
	trimmed := bytes.TrimLeft(j, " \t\r\n")
	if len(trimmed) == 0 {
		return 0
	}
	return trimmed[0]
}

// Valid reports whether the text is exactly one JSON value without duplicate
// names or invalid UTF-8.
func (j JSON) Valid() bool {
	d := jsontext.NewDecoder(bytes.NewReader(j))
	if _, err := d.ReadValue(); err != nil {
		return false
	}
	_, err := d.ReadToken()
	return err == io.EOF
}

// Exists reports whether there is a value, null included.
func (j JSON) Exists() bool { return len(j) > 0 }

// IsNull reports whether the value is null.
func (j JSON) IsNull() bool { return j.Raw() == "null" }

// Raw is the text without the white space between its tokens; literals stay.
func (j JSON) Raw() string {
	value := jsontext.Value(bytes.Clone(j))
	if err := value.Compact(jsontext.AllowDuplicateNames(true)); err != nil {
		return string(j)
	}
	return string(value)
}

// Str returns a string's value, and "" for anything else.
func (j JSON) Str() string {
	if j.kind() != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(j))
	if err != nil {
		return ""
	}
	return string(text)
}

// Int returns an integer's value, and -1 for anything else.
func (j JSON) Int() int64 {
	n, err := strconv.ParseInt(j.Raw(), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Keys returns the names of an object's members, in order.
func (j JSON) Keys() []string {
	keys := []string{}
	j.each(func(_ int, key string, _ JSON) bool {
		keys = append(keys, key)
		return true
	})
	return keys
}

// Items returns the elements of an array.
func (j JSON) Items() []JSON {
	var items []JSON
	j.each(func(_ int, _ string, value JSON) bool {
		items = append(items, value)
		return true
	})
	return items
}

// Pluck returns one value of every element of an array, as compact text.
func (j JSON) Pluck(path string) []string {
	values := []string{}
	for _, item := range j.Items() {
		values = append(values, item.Get(path).Raw())
	}
	return values
}
