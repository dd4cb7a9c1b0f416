package ui

import (
	"net/url"
	"strconv"
)

// FailingCounted is the highest number of failing schedules that pages count.
const FailingCounted = 100

// failingCount formats the number of failing schedules: "3", "99+".
func failingCount(n int) string {
	if n >= FailingCounted {
		return strconv.Itoa(FailingCounted-1) + "+"
	}
	return strconv.Itoa(n)
}

// titlePrefix is what precedes the title of a page while schedules fail: "(3) ".
func titlePrefix(n int) string {
	if n == 0 {
		return ""
	}
	return "(" + failingCount(n) + ") "
}

// failingIcon returns the address of the icon that tells how many schedules fail; ""
// if none does.
func failingIcon(n int) string {
	if n == 0 {
		return ""
	}
	text, size := strconv.Itoa(n), "20"
	if n > 9 {
		text, size = "9+", "16"
	}
	return "data:image/svg+xml," + url.PathEscape(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="15" fill="#b3261e"/>`+
			`<text x="16" y="22.5" font-family="sans-serif" font-size="`+size+`" font-weight="700" text-anchor="middle" fill="#fff">`+text+
			`</text></svg>`)
}
