package differ

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// record is an element of a list.
type record struct {
	text json.RawMessage
	rank string // the same on both sides

	ID         string          `json:"id"`
	Number     int64           `json:"job_id"`
	InsertedAt string          `json:"inserted_at"`
	Event      string          `json:"event"`
	Name       *string         `json:"name"`
	DisabledAt *string         `json:"disabled_at"`
	Frequency  json.RawMessage `json:"frequency"`
	Args       json.RawMessage `json:"args"`
	Payload    json.RawMessage `json:"payload"`
	Job        map[string]any  `json:"job"`
}

// list is a list that was read from its first page to its last.
type list struct {
	path    string
	sizes   []int // of the pages
	records []*record
}

// add adds a page. It returns false if the response is no list of records.
func (l *list) add(body []byte) bool {
	var page struct {
		Data []json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &page) != nil || page.Data == nil {
		return false
	}
	for _, text := range page.Data {
		r := &record{text: text}
		if json.Unmarshal(text, r) != nil || r.ID == "" || r.Args == nil && r.Event == "" {
			return false
		}
		l.records = append(l.records, r)
	}
	l.sizes = append(l.sizes, len(page.Data))
	return true
}

// field returns what a list is ordered by; "" for none.
func (r *record) field(name string) string {
	optional := func(text *string) string {
		if text == nil {
			return ""
		}
		return *text
	}
	switch name {
	case "name":
		return optional(r.Name)
	case "disabled_at":
		return optional(r.DisabledAt)
	case "event":
		return r.Event
	case "job_id":
		return fmt.Sprintf("%020d", r.Number)
	case "inserted_at":
		if r.Frequency != nil {
			return r.moment() // the record has seconds only
		}
		if r.Event != "" {
			return r.InsertedAt
		}
	}
	text, _ := r.Job[name].(string)
	return text
}

// moment is the part of an id that says when it was made.
func (r *record) moment() string { return r.ID[:min(len(r.ID), 18)] }

// wrongOrder returns which records of a list are in a wrong order; "" if all are right.
// Work that goes on at once ends in another order on each side, so each side is checked
// by itself.
func (l *list) wrongOrder() string {
	_, query, _ := strings.Cut(l.path, "?")
	parameters, _ := url.ParseQuery(query)
	field, direction, _ := strings.Cut(parameters.Get("order_by"), ",")
	if field == "" {
		field, direction = "inserted_at", "desc"
	}
	for i := 1; i < len(l.records); i++ {
		a, b := l.records[i-1], l.records[i]
		x, y := a.field(field), b.field(field)
		order := cmp.Compare(x, y)
		if direction == "desc" {
			order = -order
		}
		switch { // none comes last, ties by newest first
		case x == "" && y != "":
			order = 1
		case x != "" && y == "":
			order = -1
		case order == 0 && a.Number != 0 && a.Event == "":
			order = cmp.Compare(b.Number, a.Number)
		case order == 0:
			order = cmp.Compare(b.moment(), a.moment())
		}
		if order > 0 {
			return fmt.Sprintf("in %s, this comes too early:\n%s\nbefore\n%s", l.path, a.text, b.text)
		}
	}
	return ""
}

// normalList returns the list in an order that is the same on both sides.
func (s *side) normalList(l *list) string {
	for _, r := range l.records {
		switch job := s.symbols.known("job", fmt.Sprint(r.Number)); {
		case r.Event == "":
			r.rank = s.bare(r.Args)
		case job != "":
			r.rank = job // its logs are in order
		default:
			r.rank = r.Event + s.bare(r.Payload)
		}
	}
	slices.SortFunc(l.records, func(a, b *record) int {
		return cmp.Or(strings.Compare(a.rank, b.rank), cmp.Compare(a.Number, b.Number), strings.Compare(a.ID, b.ID))
	})
	texts := make([][]byte, len(l.records))
	for i, r := range l.records {
		texts[i] = r.text
	}
	return fmt.Sprint(l.sizes) + s.body(slices.Concat([]byte(`{"data":[`), bytes.Join(texts, []byte(",")), []byte(`]}`)))
}

// bare returns a text without what differs between the sides.
func (s *side) bare(text []byte) string {
	plain := strings.ReplaceAll(string(text), s.target.url, "")
	plain = strings.ReplaceAll(plain, fmt.Sprintf("/hold/%d-", s.run), "/hold/")
	plain = uuids.ReplaceAllString(plain, "")
	plain = durations.ReplaceAllString(plain, "")
	plain = jobMembers.ReplaceAllString(plain, "")
	return times.ReplaceAllString(plain, "")
}
