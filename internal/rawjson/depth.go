package rawjson

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects that Read accepts may nest.
const MaxDepth = 128

// DepthError is returned by Read for JSON that nests deeper than MaxDepth.
type DepthError struct {
	// Field names the member of the outermost object that nests too deep, and
	// Named reports whether there is one: there is none in an array.
	Field string
	Named bool
}

func (e *DepthError) Error() string {
	return fmt.Sprintf("it nests deeper than %d levels", MaxDepth)
}

// Depth returns how deep arrays and objects nest in v: 0 for a scalar.
func Depth(v Value) int {
	deepest, _ := nesting(v)
	return deepest
}

// nesting returns how deep the brackets of text nest, and whether each one is
// closed again by the end.
func nesting(text []byte) (deepest int, closed bool) {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			at = textEnd(text, at) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest, depth == 0
}

// isDeep reports whether text nests deeper than MaxDepth. Most does not have as
// many brackets.
func isDeep(text []byte) bool {
	return bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) > MaxDepth && Depth(text) > MaxDepth
}

// readerDepth is how deep jsontext reads.
const readerDepth = 10_000

// whyDeep returns a DepthError for JSON that nests too deep, and for text that is
// no JSON what is wrong with it. Beyond readerDepth it looks at brackets only.
func whyDeep(text []byte) error {
	if deepest, closed := nesting(text); deepest > readerDepth && !closed {
		return errors.New("its brackets are not balanced")
	} else if deepest <= readerDepth {
		if _, err := jsontext.AppendFormat(nil, text, jsontext.AllowDuplicateNames(true)); err != nil {
			return explain(err)
		}
	}
	for _, m := range Members(text) {
		if Depth(m.Value) >= MaxDepth {
			return &DepthError{Field: m.Name, Named: true}
		}
	}
	return &DepthError{}
}
