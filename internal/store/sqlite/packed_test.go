package sqlite

import (
	"testing"

	"zombiezen.com/go/sqlite"
)

// TestCutText_SelectsNoMoreThanAsked: payloads may have 256 KiB, and lists cut many.
func TestCutText_SelectsNoMoreThanAsked(t *testing.T) {
	s := openTest(t)
	for _, c := range []struct {
		payload, last string
		head, tail    string
	}{
		{"äbcdef", "", "äb", ""},
		{"abcdéf", "3", "ab", "déf"},
		{"abc", "3", "ab", "abc"},
		{"ab", "1", "ab", ""},
		{"", "1", "", ""},
	} {
		var head, tail string
		err := s.readAs(t.Context(), pages, func(t *tx) error {
			return t.query(`SELECT `+cutText(`l`, `2`, c.last)+` FROM (SELECT ? AS payload, NULL AS packed, NULL AS size) l`,
				func(stmt *sqlite.Stmt) error {
					head, tail = (&columns{stmt: stmt}).cut(2, 0)
					return nil
				}, c.payload)
		})
		if err != nil || head != c.head || tail != c.tail {
			t.Errorf("the first 2 and the last %q characters of %q are %q and %q, want %q and %q (%v)", c.last, c.payload, head, tail,
				c.head, c.tail, err)
		}
	}
}
