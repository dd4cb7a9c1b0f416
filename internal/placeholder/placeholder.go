package placeholder

import "strings"

// MaxName is the greatest length of a secret's name, in bytes.
const MaxName = 64

const (
	opening = "{{"
	closing = "}}"
	prefix  = "secret."
)

// Part is a piece of a header value: a literal text or, if Secret is not "", the
// name of a secret.
type Part struct{ Text, Secret string }

// Parse splits a header value into its parts. It returns nil if the value is
// plain text that stands for itself. A malformed placeholder, such as
// {{secret.}} or {{ secret.a }}, is part of the text; wellFormed reports that
// there is none.
func Parse(value string) (parts []Part, wellFormed bool) {
	wellFormed = true
	if !strings.Contains(value, opening) {
		return nil, true
	}
	var text strings.Builder
	changed := false
	for rest := value; rest != ""; {
		i := strings.Index(rest, opening)
		if i < 0 {
			text.WriteString(rest)
			break
		}
		text.WriteString(rest[:i])
		rest = rest[i:]
		if after, ok := strings.CutPrefix(rest, opening+opening); ok {
			text.WriteString(opening)
			rest, changed = after, true
			continue
		}
		if name, after, ok := reference(rest); ok {
			if text.Len() > 0 {
				parts = append(parts, Part{Text: text.String()})
				text.Reset()
			}
			parts = append(parts, Part{Secret: name})
			rest, changed = after, true
			continue
		}
		wellFormed = wellFormed && !resembles(rest[len(opening):])
		text.WriteByte(rest[0])
		rest = rest[1:]
	}
	if !changed {
		return nil, wellFormed
	}
	if text.Len() > 0 {
		parts = append(parts, Part{Text: text.String()})
	}
	return parts, wellFormed
}

// reference reads the placeholder with which rest begins.
func reference(rest string) (name, after string, ok bool) {
	inner, ok := strings.CutPrefix(rest, opening+prefix)
	if !ok {
		return "", "", false
	}
	// No name is longer, so a missing end costs no more than this.
	end := strings.Index(inner[:min(len(inner), MaxName+len(closing))], closing)
	if end < 0 || !IsName(inner[:end]) {
		return "", "", false
	}
	return inner[:end], inner[end+len(closing):], true
}

// resembles reports whether the text after {{ was probably meant to name a
// secret.
func resembles(text string) bool {
	text = strings.TrimLeft(text[:min(len(text), MaxName)], " \t")
	if len(text) < len(prefix)-1 || !strings.EqualFold(text[:len(prefix)-1], prefix[:len(prefix)-1]) {
		return false
	}
	return strings.HasPrefix(strings.TrimLeft(text[len(prefix)-1:], " \t"), ".")
}

// IsName reports whether text is a valid name: 1 to MaxName letters, digits,
// dots, hyphens and underscores of ASCII, beginning with a letter or digit.
func IsName(text string) bool {
	if text == "" || len(text) > MaxName || strings.IndexByte(".-_", text[0]) >= 0 {
		return false
	}
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
