package view

import (
	"strconv"
	"strings"
)

// Find is the page that finds pages, schedules and jobs, and the results of the
// command palette.
type Find struct {
	Query  string
	Groups []FindGroup
	Full   string // the list of jobs that match; "" without a search
	Older  bool   // older jobs were not searched
}

// FindGroup are results of one kind.
type FindGroup struct {
	Title string
	Items []FindItem
}

// FindItem is a result: a link, or a form if Fields is not nil.
type FindItem struct {
	Label  string
	Detail string // "" for none
	Icon   string
	Href   string // of the page, or where the form is sent
	Fields [][2]string
	// Words are further words that find it.
	Words string
}

// Matches reports whether the label or the words of an item contain each word of a
// text, ignoring case.
func (i *FindItem) Matches(text string) bool {
	in := strings.ToLower(i.Label + " " + i.Words)
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		if !strings.Contains(in, word) {
			return false
		}
	}
	return true
}

// count returns how many results there are.
func (d *Find) count() (n int) {
	for _, g := range d.Groups {
		n += len(g.Items)
	}
	return n
}

// status says how many results there are.
func (d *Find) status() string {
	switch n := d.count(); {
	case n == 0 && d.Older:
		return "No results among the newest jobs"
	case n == 0:
		return "No results"
	case n == 1:
		return "1 result"
	default:
		return strconv.Itoa(n) + " results"
	}
}
