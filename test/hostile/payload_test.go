package hostile

import (
	"fmt"
	"strings"
)

// between returns what stands between two marks; "" when a mark is missing.
func between(text, from, to string) string {
	_, text, found := strings.Cut(text, from)
	if !found {
		return ""
	}
	text, _, found = strings.Cut(text, to)
	if !found {
		return ""
	}
	return text
}

const kib, mib = 1 << 10, 1 << 20

// almost is just under the largest body that is read.
const almost = mib - 4*kib

// fill repeats a piece up to a size.
func fill(piece string, size int) string { return strings.Repeat(piece, size/len(piece)) }

// nested returns JSON nested to a depth, by opening and closing marks.
func nested(open, inner, closing string, depth int) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(closing, depth)
}

// members returns n members, made from their number.
func members(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// list returns a JSON array of n equal elements.
func list(element string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

// job returns the body of a create with a target that is never called, since the
// job is due in a year.
func job(more string) string {
	return `{"url":"https://127.0.0.1:1443/","schedule_in":[52,"weeks"],` + more + `}`
}
