package job

import (
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

var knownFields = []string{
	"method", "url", "query", "body", "headers", "schedule_in", "scheduled_at", "repeat_every", "cron", "timezone",
	"idempotency_key", "callback_url", "webhook_url", "name", "description", "retries", "timeout", "metadata",
}

// take notes the fields that are known and refuses others.
func (r *reader) take(members []rawjson.Member, known []string) {
	for _, m := range members {
		if !slices.Contains(known, m.Name) {
			r.refuse(Pointer(m.Name), "%s", unknownField(m.Name, known))
		} else if !rawjson.IsNull(m.Value) {
			r.fields[m.Name] = m.Value
		}
	}
}

func unknownField(name string, known []string) string {
	if near, ok := nearestField(name, known); ok {
		return "is not a known field; did you mean " + near + "?"
	}
	return "is not a known field; the known ones are " + strings.Join(known, ", ")
}

// nearestField gives the known field with the fewest edits to name, of several
// the one that begins most like it, and whether it is near enough to be worth
// mentioning.
func nearestField(name string, known []string) (string, bool) {
	if len(name) > 64 {
		return "", false
	}
	best, least, alike := "", 0, 0
	for _, field := range known {
		n, same := editDistance(plain(name), plain(field)), commonPrefix(plain(name), plain(field))
		if best == "" || n < least || n == least && same > alike {
			best, least, alike = field, n, same
		}
	}
	return best, least <= max(1, len(best)/2)
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

// plain takes away what people spell differently without meaning anything by it.
func plain(name string) string {
	return separators.Replace(strings.ToLower(name))
}

// editDistance is Levenshtein's, over bytes.
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

// Pointer makes a JSON pointer to steps as a URI fragment (RFC 6901, section 6).
func Pointer(steps ...string) string {
	var b strings.Builder
	b.WriteByte('#')
	for _, step := range steps {
		b.WriteByte('/')
		step = pointerEscapes.Replace(step)
		for i := range len(step) {
			if isFragment(step[i]) {
				b.WriteByte(step[i])
			} else {
				b.WriteString("%" + strings.ToUpper(string("0123456789abcdef"[step[i]>>4])+string("0123456789abcdef"[step[i]&15])))
			}
		}
	}
	return b.String()
}

// isFragment reports whether RFC 3986 allows the byte in a fragment as it is.
func isFragment(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@/?", c) >= 0
}
