package docsite

import (
	"bytes"
	"regexp"
	"strings"
)

const summary = "punctual sends HTTP requests on time: after a delay, at a time, at an interval, or by cron. " +
	"You create a job over an HTTP API; punctual sends the request when it is due, retries it when it fails, " +
	"and keeps a log of the request and the response."

// list returns the list of pages in the form of llms.txt (https://llmstxt.org).
func (s *Site) list() []byte {
	var b bytes.Buffer
	b.WriteString("# punctual\n\n> " + summary + "\n\n")
	b.WriteString("- [API document](/openapi.json): OpenAPI 3.1, every call with examples\n")
	b.WriteString("- [Tools for agents](/docs/guides/agents.md): /mcp serves the Model Context Protocol, with an API key as bearer\n")
	b.WriteString("- [Everything on one page](" + LLMsFull + "): all pages below\n")
	for _, section := range s.sections {
		b.WriteString("\n## " + section.Title + "\n\n")
		for _, p := range section.Pages {
			b.WriteString("- [" + p.Title + "](" + p.path + ".md)")
			if p.About != "" {
				b.WriteString(": " + p.About)
			}
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// full returns all pages, one after the other.
func (s *Site) full() []byte {
	var b bytes.Buffer
	b.WriteString("<!-- " + summary + " The API is described by /openapi.json. -->\n")
	for _, p := range s.pages[1:] {
		b.WriteString("\n<!-- " + p.path + ".md -->\n\n")
		b.Write(p.markdown())
	}
	return b.Bytes()
}

var destination = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// markdown returns the source of the page, with links to the site's Markdown.
func (p *page) markdown() []byte {
	return destination.ReplaceAllFunc(source(p.name), func(match []byte) []byte {
		to := resolve(p.name, string(match[2:len(match)-1]))
		if name, fragment, _ := strings.Cut(to, "#"); strings.HasPrefix(name, indexPath) || name == Prefix+"/comparison" || name == Prefix+
			"/performance" {
			to = name + ".md"
			if fragment != "" {
				to += "#" + fragment
			}
		}
		return []byte("](" + to + ")")
	})
}
