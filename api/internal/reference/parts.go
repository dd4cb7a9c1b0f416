package reference

import (
	"bytes"
	"regexp"
	"slices"
)

// Part is a page of the reference that is one of several.
type Part struct {
	Slug  string // the last element of its path; empty for the first page
	Title string
	// Entries are the places of the page that have an address.
	Entries []Entry
	HTML    []byte
}

// Entry is a place that the contents list.
type Entry struct {
	ID     string
	Method string // of a call
	Title  string
	Path   string // of a call or message
}

// Paths is where a site serves the parts.
type Paths struct {
	First string // the first page
	Below string // the prefix of all others, with a slash at its end
	All   string // everything on one page
}

func (p Paths) of(slug string) string {
	if slug == "" {
		return p.First
	}
	return p.Below + slug
}

// The slugs of the parts that have no group of calls.
const (
	errorsSlug  = "errors"
	schemasSlug = "schemas"
)

// partView is what the template of a part shows.
type partView struct {
	*View
	Paths          Paths
	Parts          []Part
	Part           *Part
	Previous, Next *Part
	Group          *Group // of calls, or of messages
}

// Href is the path of a part.
func (v partView) Href(p Part) string { return v.Paths.of(p.Slug) }

// RenderParts makes a page for each group of calls, for the messages, errors and
// schemas. The first page lists what the others have: it has each of their ids, so
// that addresses into the page of [Render] still lead to the place.
func RenderParts(doc []byte, programs []Program, frame Frame, paths Paths) ([]Part, error) {
	v, err := read(doc, programs)
	if err != nil {
		return nil, err
	}
	v.Frame = frame
	parts := v.parts()
	groups := map[string]*Group{v.Messages.ID: &v.Messages}
	for i := range v.Groups {
		groups[v.Groups[i].ID] = &v.Groups[i]
	}
	hrefs := map[string]string{}
	for _, p := range parts[1:] {
		hrefs[p.Slug] = paths.of(p.Slug)
		for _, e := range p.Entries {
			hrefs[e.ID] = paths.of(p.Slug) + "#" + e.ID
		}
	}
	for i := range parts {
		p := &parts[i]
		shown := partView{View: v, Paths: paths, Parts: parts, Part: p, Group: groups[p.Slug]}
		if i > 0 {
			shown.Previous = &parts[i-1]
		}
		if i+1 < len(parts) {
			shown.Next = &parts[i+1]
		}
		var out bytes.Buffer
		if err := page.ExecuteTemplate(&out, "part", shown); err != nil {
			return nil, err
		}
		p.HTML = p.relink(out.Bytes(), hrefs)
	}
	return parts, nil
}

// parts lists the pages without their text.
func (v *View) parts() []Part {
	parts := []Part{{Title: "Begin here"}}
	for _, g := range append(slices.Clone(v.Groups), v.Messages) {
		p := Part{Slug: g.ID, Title: g.Title}
		for _, op := range g.Operations {
			p.Entries = append(p.Entries, Entry{ID: op.ID, Method: op.Method, Title: op.Summary, Path: op.Path})
		}
		parts = append(parts, p)
	}
	failures := Part{Slug: errorsSlug, Title: "Errors"}
	for _, r := range v.Problems {
		failures.Entries = append(failures.Entries, Entry{ID: r.ID, Title: r.Status + " " + r.Reason})
	}
	schemas := Part{Slug: schemasSlug, Title: "Schemas"}
	for _, s := range v.Schemas {
		schemas.Entries = append(schemas.Entries, Entry{ID: s.Name, Title: s.Name})
	}
	return append(parts, failures, schemas)
}

var local = regexp.MustCompile(` href="#([^"]+)"`)

// relink makes links to places of other pages lead there.
func (p *Part) relink(html []byte, hrefs map[string]string) []byte {
	return local.ReplaceAllFunc(html, func(match []byte) []byte {
		id := string(local.FindSubmatch(match)[1])
		here := p.Slug != "" && (id == p.Slug || slices.ContainsFunc(p.Entries, func(e Entry) bool { return e.ID == id }))
		if to, ok := hrefs[id]; ok && !here {
			return []byte(` href="` + to + `"`)
		}
		return match
	})
}
