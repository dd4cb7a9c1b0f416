package schedule

import "strings"

// dropped says which fields of an expression with six or seven to drop: seconds
// at the beginning, as Quartz and Spring have, or a year at the end, as the
// schedulers of some clouds have.
func dropped(words []string) string {
	last := words[len(words)-1]
	year := len(words) == 6 && (isYear(last) || words[2] == "?" || words[4] == "?")
	switch {
	case len(words) == 7:
		return "drop the first, seconds, and the last, the year: " + quote(strings.Join(words[1:6], " "))
	case year:
		return "drop the last, the year: " + quote(strings.Join(words[:5], " "))
	default:
		return "drop the first, seconds: " + quote(strings.Join(words[1:], " "))
	}
}

func isYear(word string) bool {
	return len(word) == 4 && strings.Trim(word, "0123456789") == ""
}
