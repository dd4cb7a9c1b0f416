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
// the calls of the API.
func (s *Site) index() []byte {
	entries := []entry{}
	for _, p := range s.pages[1:] {
		entries = append(entries, p.entries()...)
	}
	entries = append(entries, calls(api.JSON())...)
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

// calls returns an entry for each call of an OpenAPI document.
func calls(document []byte) []entry {
	var openapi struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &openapi); err != nil {
		panic("docsite: the API's document can't be read: " + err.Error())
	}
	var list []entry
	for _, path := range slices.Sorted(maps.Keys(openapi.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(openapi.Paths[path])) {
			var call struct {
				OperationID string `json:"operationId"`
				Summary     string `json:"summary"`
				Description string `json:"description"`
			}
			if err := json.Unmarshal(openapi.Paths[path][method], &call); err != nil || call.OperationID == "" {
				continue // parameters of the path
			}
			about := strings.Join(strings.Fields(call.OperationID+" "+call.Description), " ")
			list = append(list, entry{
				Href: Prefix + "#" + call.OperationID, Page: "API reference",
				Title: strings.ToUpper(method) + " " + path + ": " + call.Summary, Text: cut(about, maxEntryText),
			})
		}
	}
	return list
}
