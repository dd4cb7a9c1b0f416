package rawjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Equal reports whether two values are the same JSON, whatever the order of the
// members of their objects. Numbers are the same if they are written alike.
func Equal(a, b Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) != len(b) || a.Kind() != b.Kind() {
		return false // both are compact
	}
	return bytes.Equal(Reordered(a), Reordered(b))
}

// Reordered returns a value with the members of all objects in one order.
func Reordered(v Value) []byte {
	out, err := jsontext.AppendFormat(make([]byte, 0, len(v)), v, jsontext.AllowDuplicateNames(true), jsontext.ReorderRawObjects(true))
	if err != nil {
		return v // not a value of this package
	}
	return out
}
