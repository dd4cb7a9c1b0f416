package job

import (
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var createFields = namesIn(ForCreate)

// take stores the known fields and refuses all others.
func (r *reader) take(members []rawjson.Member, known []string) {
	for _, m := range members {
		if !slices.Contains(known, m.Name) {
			r.refuseUnknown(m.Name, known)
		} else if !rawjson.IsNull(m.Value) {
			r.fields[m.Name] = m.Value
		}
	}
}

func (r *reader) refuseUnknown(name string, known []string) {
	if r.problems.Full() {
		r.refuse("#", "")
		return
	}
	pointer, all := Pointer(name), strings.Join(known, ", ")
	if byName[name] != nil {
		r.refuse(pointer, "can't be given here; the fields that can are %s", all)
	} else if near, ok := Nearest(name, known); ok {
		r.refuse(pointer, "is not a known field; did you mean %s?", near)
	} else if pointer == "#" {
		r.refuse(pointer, "has an unknown field, whose name begins with %.40q; the known ones are %s", name, all)
	} else {
		r.refuse(pointer, "is not a known field; the known ones are %s", all)
	}
}

// Nearest returns the known name that a misspelt one most likely stands for: a
// small edit distance and a long common prefix count. It reports whether the name
// is close enough to suggest.
func Nearest(name string, known []string) (string, bool) {
	best, distance := nearest(name, known)
	return best, best != "" && distance <= max(1, len(best)/2)
}

// Misspelt is like Nearest for a place where unknown names are permitted: it
// reports true only if the name hardly means anything else.
func Misspelt(name string, known []string) (string, bool) {
	best, distance := nearest(name, known)
	return best, best != "" && distance <= len(best)/3
}

// nearest returns the known name that is most like name and their distance; ""
// if name is too long to compare.
func nearest(name string, known []string) (best string, least int) {
	if len(name) > 64 {
		return "", 0
	}
	if meant, ok := synonyms[plain(name)]; ok && slices.Contains(known, meant) {
		return meant, 0
	}
	score := 0
	for _, field := range known {
		n, same := editDistance(plain(name), plain(field)), commonPrefix(plain(name), plain(field))
		if s := 2*n - same; best == "" || s < score {
			best, least, score = field, n, s
		}
	}
	return best, least
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

var (
	separators     = strings.NewReplacer("_", "", "-", "", " ", "")
	pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1") // RFC 6901, section 3
)

// plain removes differences in spelling that carry no meaning.
func plain(name string) string {
	return separators.Replace(strings.ToLower(name))
}

// editDistance returns the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// Pointer returns a JSON pointer to steps as a URI fragment (RFC 6901, section 6).
// If a step would make it longer than fault.MaxDetail, the pointer ends before
// that step and so points to the value that contains it.
func Pointer(steps ...string) string {
	b := bounded{most: fault.MaxDetail}
	add(&b, "#")
	for _, step := range steps {
		whole := len(b.b)
		if len(step) > b.remaining() {
			break
		}
		add(&b, "/")
		for _, c := range []byte(pointerEscapes.Replace(step)) {
			if isFragment(c) {
				add(&b, string(rune(c)))
			} else {
				add(&b, "%"+string(hexDigits[c>>4])+string(hexDigits[c&15]))
			}
		}
		if b.over {
			b.b = b.b[:whole]
			break
		}
	}
	return string(b.b)
}

const hexDigits = "0123456789ABCDEF"

// isFragment reports whether RFC 3986 allows the byte unescaped in a fragment.
func isFragment(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@/?", c) >= 0
}
