package view

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Edit is the form that changes a record.
type Edit struct {
	*NewJob
	Editing
	Revision int64  // of the record as the form shows it
	Was      string // identifies the texts that the form began with
}

// Editing is what the pages that change a record say.
type Editing struct {
	Title, Record string // the heading, and the record's title
	Area          string // of the navigation
	Back, Action  string // the addresses of the record and of the form
	Verb          string // what saves the changes
	Note          string // which runs they concern; "" if there is nothing to say
	When          string // the hint for the time of a one-off job
	Recurs        bool
}

// Difference is what a form would change, before it is saved.
type Difference struct {
	Runs *RunsChange // how the runs change; nil for a job
	*Edit
	Changes []Change
	// Meanwhile are the edits since the form was shown, latest first.
	Meanwhile []Revision
	Hidden    url.Values // the inputs of the form
}

// Change is a field that an edit changes. The texts are "" for no value.
type Change struct {
	Label    string
	From, To string
	// Masked is set if only credentials in headers differ, which are not shown.
	Masked bool
}

// Revision is an edit of a record.
type Revision struct {
	Number  int64
	At      time.Time
	Who     string
	Changes []Change
}

// History is the page of a record's edits.
type History struct {
	Record, Area, Back string
	Revisions          []Revision // latest first
	CreatedAt          time.Time
}

// complete reports whether the first edit is listed.
func (h *History) complete() bool {
	return len(h.Revisions) == 0 || h.Revisions[len(h.Revisions)-1].Number == 2
}

// ChangesOf returns how the page shows the changes of an edit.
func ChangesOf(changes []job.FieldChange) []Change {
	shown := make([]Change, 0, len(changes))
	for _, c := range changes {
		shown = append(shown, changeOf(strings.TrimPrefix(c.Path, "/"), c.From, c.To))
	}
	return shown
}

// RevisionOf returns how the page shows an edit.
func RevisionOf(r *job.Revision) Revision {
	shown := Revision{Number: r.Number, At: r.At, Who: whoOf(r.By)}
	for _, c := range rawjson.Elements(r.Changes) {
		path := strings.TrimPrefix(rawjson.Text(rawjson.Get(c, "path")), "/")
		shown.Changes = append(shown.Changes, changeOf(path, rawjson.Get(c, "from"), rawjson.Get(c, "to")))
	}
	return shown
}

// whoOf describes the actor of an edit.
func whoOf(by rawjson.Value) string {
	name := rawjson.Text(rawjson.Get(by, "name"))
	switch job.ActorKind(rawjson.Text(rawjson.Get(by, "kind"))) {
	case job.ByKey:
		return strings.TrimSpace("API key " + name)
	case job.ByPublic:
		return "the public key"
	case job.BySession:
		return strings.TrimSpace("dashboard, " + name)
	case job.ByOperator:
		return "an operator"
	}
	return "the service"
}

func changeOf(name string, from, to rawjson.Value) Change {
	c := Change{Label: name}
	if field := job.FieldNamed(name); field != nil && field.Form.Label != "" {
		c.Label = field.Form.Label
	}
	if name == "headers" {
		maskedFrom, maskedTo := maskHeaders(from), maskHeaders(to)
		c.Masked = rawjson.Equal(maskedFrom, maskedTo)
		from, to = maskedFrom, maskedTo
	}
	c.From, c.To = unlike(changedText(from), changedText(to))
	return c
}

// maskHeaders returns headers with masked credentials. Of headers that the history
// has shortened, nothing is shown: they may have credentials.
func maskHeaders(headers rawjson.Value) rawjson.Value {
	if headers.Kind() == '"' {
		return rawjson.Quote("too long to be shown")
	}
	return rawjson.Get(job.MaskCredentials(rawjson.Object([]rawjson.Member{{Name: "headers", Value: headers}})), "headers")
}

func changedText(v rawjson.Value) string {
	switch {
	case len(v) == 0 || rawjson.IsNull(v):
		return ""
	case v.Kind() == '"':
		return rawjson.Text(v)
	}
	return ui.Pretty(v)
}

// linesAround is how many equal lines are shown around those that differ.
const linesAround = 2

// unlike returns two texts without the lines at their beginnings and ends that are
// the same, apart from a few.
func unlike(from, to string) (string, string) {
	a, b := strings.Split(from, "\n"), strings.Split(to, "\n")
	least := min(len(a), len(b))
	head, tail := 0, 0
	for head < least && a[head] == b[head] {
		head++
	}
	for tail < least-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return between(a, head-linesAround, tail-linesAround), between(b, head-linesAround, tail-linesAround)
}

// between returns lines without so many at the beginning and at the end.
func between(lines []string, head, tail int) string {
	kept := lines
	if tail > 0 {
		kept = append(slices.Clone(kept[:len(kept)-tail]), "… "+strconv.Itoa(tail)+" equal lines")
	}
	if head > 0 {
		kept = append([]string{"… " + strconv.Itoa(head) + " equal lines"}, kept[head:]...)
	}
	return strings.Join(kept, "\n")
}

// changesShown is about how many bytes the values of a list of changes take in a
// page.
const changesShown = 48 << 10

// clipped returns a value as far as it is shown beside others.
func clipped(text string, values int) string {
	kept, left := ui.Clip(text, min(4<<10, changesShown/max(1, values)))
	if left > 0 {
		kept += "… " + ui.Size(left) + " more"
	}
	return kept
}

// canSave reports whether there is something to save. A copy may be the same.
func (d *Difference) canSave() bool { return len(d.Changes) > 0 || d.Revision == 0 }
