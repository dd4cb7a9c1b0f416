package docsite

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/punctual-dev/punctual/api"
)

// maxEntryText is how many bytes of a section's text the index has.
const maxEntryText = 6000

// entry is a section of a page, or a call of the API.
type entry struct {
	Href  string `json:"u"`
	Page  string `json:"p"`
	Title string `json:"t"`
	Text  string `json:"x"`
}

// index returns the index of the search in JSON: the sections of all pages, then
// the calls, messages, errors and schemas of the API.
func (s *Site) index() []byte {
	entries := []entry{}
	for _, p := range s.pages[1:] {
		entries = append(entries, p.entries()...)
	}
	entries = append(entries, calls(api.JSON(), s.parts())...)
	text, err := json.Marshal(entries)
	if err != nil {
		panic("docsite: the index can't be encoded: " + err.Error())
	}
	return text
}

// entries returns an entry for each section of the page.
func (p *page) entries() []entry {
	source := source(p.name)
	var list []entry
	for block := parse(source).FirstChild(); block != nil; block = block.NextSibling() {
		if h, ok := block.(*ast.Heading); ok {
			e := entry{Href: p.path, Page: p.Title, Title: plain(h, source)}
			if h.Level > 1 {
				e.Href += "#" + headingID(h)
			}
			list = append(list, e)
			continue
		}
		if len(list) == 0 {
			list = append(list, entry{Href: p.path, Page: p.Title, Title: p.Title})
		}
		last := &list[len(list)-1]
		last.Text = cut(strings.TrimSpace(last.Text+" "+plain(block, source)), maxEntryText)
	}
	return list
}

// cut returns the beginning of a text, at most n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// calls returns an entry for each place of the reference, with what the OpenAPI document
// says of calls.
func calls(document []byte, parts []api.ReferencePart) []entry {
	about := descriptions(document)
	var list []entry
	for _, p := range parts {
		for _, at := range p.Entries {
			e := entry{Href: callsPath + p.Slug + "#" + at.ID, Page: "API reference", Title: at.Title, Text: about[at.ID]}
			if at.Path != "" {
				e.Title = strings.TrimSpace(at.Method + " " + at.Path + ": " + at.Title)
			} else {
				e.Page += ", " + p.Title
			}
			list = append(list, e)
		}
	}
	return list
}

// descriptions returns what the OpenAPI document says of its calls and schemas, by
// operationId and name.
func descriptions(document []byte) map[string]string {
	type described struct {
		OperationID string                     `json:"operationId"`
		Description string                     `json:"description"`
		Properties  map[string]json.RawMessage `json:"properties"`
	}
	var openapi struct {
		Paths      map[string]map[string]json.RawMessage `json:"paths"`
		Components struct {
			Schemas map[string]described `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &openapi); err != nil {
		panic("docsite: the API's document can't be read: " + err.Error())
	}
	found := map[string]string{}
	text := func(words ...string) string {
		return cut(strings.Join(strings.Fields(strings.Join(words, " ")), " "), maxEntryText)
	}
	for _, path := range openapi.Paths {
		for _, member := range path {
			var call described
			if err := json.Unmarshal(member, &call); err == nil && call.OperationID != "" { // the others are parameters of the path
				found[call.OperationID] = text(call.OperationID, call.Description)
			}
		}
	}
	for name, schema := range openapi.Components.Schemas {
		found[name] = text(append([]string{schema.Description}, slices.Sorted(maps.Keys(schema.Properties))...)...)
	}
	return found
}
