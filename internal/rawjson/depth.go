package rawjson

import (
	"bytes"
	"fmt"
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

// checkDepth returns a DepthError for a value that nests too deep.
func checkDepth(v Value) error {
	if bytes.Count(v, []byte{'['})+bytes.Count(v, []byte{'{'}) <= MaxDepth || Depth(v) <= MaxDepth {
		return nil
	}
	for _, m := range Members(v) {
		if Depth(m.Value) >= MaxDepth {
			return &DepthError{Field: m.Name, Named: true}
		}
	}
	return &DepthError{}
}
