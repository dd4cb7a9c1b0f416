package rawjson

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// name is the name of a member: where it stands, and which of the strings in the
// text it is. Names of one object are compared by their hashes first.
type name struct{ hash, begin, end, nth uint32 }

var seed = maphash.MakeSeed()

// repeated returns which of the strings in v, counted from 0, is the first name
// that its object has already; -1 when there is none. It expects a value that was
// checked, with strings in their shortest form.
//
// jsontext can find out as well. It keeps a map for each object, which costs ten
// times as much, in time and in memory: it would be the dearest part of a call.
func repeated(v Value) int {
	first := -1
	names := make([]name, 0, bytes.Count(v, []byte(`":`))) // of all objects that are open
	var open []int                                         // where the names of each begin; -1 for an array
	var table []uint32
	nth := uint32(0)
	for at := 0; at < len(v); at++ {
		switch v[at] {
		case '"':
			begin := at
			at = textEnd(v, begin) - 1
			if at+1 < len(v) && v[at+1] == ':' {
				names = append(names, name{uint32(maphash.Bytes(seed, v[begin:at+1])), uint32(begin), uint32(at + 1), nth})
			}
			nth++
		case '[':
			open = append(open, -1)
		case '{':
			open = append(open, len(names))
		case ']', '}':
			if from := open[len(open)-1]; from >= 0 {
				var again int
				if again, table = firstAgain(v, names[from:], table); again >= 0 && (first < 0 || again < first) {
					first = again
				}
				names = names[:from]
			}
			open = open[:len(open)-1]
		}
	}
	return first
}

// few names are compared with each other; more are looked up in a table.
const few = 12

// firstAgain returns the first of the names that is one of those before it, by
// its number in the text; -1 when there is none. It uses the table, or returns a
// larger one.
func firstAgain(v Value, names []name, table []uint32) (int, []uint32) {
	same := func(a, b name) bool {
		return a.hash == b.hash && bytes.Equal(v[a.begin:a.end], v[b.begin:b.end])
	}
	if len(names) <= few {
		for i, b := range names {
			for _, a := range names[:i] {
				if same(a, b) {
					return int(b.nth), table
				}
			}
		}
		return -1, table
	}
	size := 1 << bits.Len(uint(2*len(names))) // at most half full
	if size > len(table) {
		table = make([]uint32, size)
	} else {
		clear(table[:size])
	}
	for i, b := range names {
		slot := int(b.hash) & (size - 1)
		for ; table[slot] > 0; slot = (slot + 1) & (size - 1) {
			if same(names[table[slot]-1], b) {
				return int(b.nth), table
			}
		}
		table[slot] = uint32(i + 1)
	}
	return -1, table
}

// stringAt returns where a string of a text begins, counted from 0.
func stringAt(text []byte, nth int) int {
	for at := 0; at < len(text); at++ {
		if text[at] != '"' {
			continue
		}
		if nth == 0 {
			return at
		}
		nth--
		at = textEnd(text, at) - 1
	}
	return len(text)
}
