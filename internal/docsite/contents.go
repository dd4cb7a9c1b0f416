package docsite

import (
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/punctual-dev/punctual/docs"
)

// readme is the page that lists all others.
const readme = "README.md"

// page is a page of the documentation.
type page struct {
	Title string // as the list of pages has it
	About string // what the list says of the page; may be empty
	name  string // of its file, below docs
	path  string // on the site
}

// Href is the page's path.
func (p *page) Href() string { return p.path }

// section is a group of pages in the navigation.
type section struct {
	Title string
	Pages []*page
}

// contents are the pages in their order.
type contents struct {
	pages    []*page // the list of pages is the first
	sections []section
}

// source returns a file of the documentation, which exists.
func source(name string) []byte {
	text, err := docs.Files.ReadFile(name)
	if err != nil {
		panic("docsite: an embedded page can't be read: " + err.Error())
	}
	return text
}

// pathOf returns the path of a page on the site.
func pathOf(name string) string {
	if name == readme {
		return indexPath
	}
	return Prefix + "/" + strings.TrimSuffix(name, ".md")
}

// readContents reads which pages there are from the list of pages: below each
// heading of the second level, the first link of each item that leads to a page.
func readContents() contents {
	text := source(readme)
	c := contents{pages: []*page{{Title: "Documentation", name: readme, path: indexPath}}}
	document := parse(text)
	var current section
	finish := func() {
		if len(current.Pages) > 0 {
			c.sections = append(c.sections, current)
		}
	}
	for block := document.FirstChild(); block != nil; block = block.NextSibling() {
		switch block := block.(type) {
		case *ast.Heading:
			finish()
			current = section{Title: plain(block, text)}
		case *ast.List:
			for item := block.FirstChild(); item != nil; item = item.NextSibling() {
				if p := listed(item, text); p != nil {
					current.Pages = append(current.Pages, p)
					c.pages = append(c.pages, p)
				}
			}
		}
	}
	finish()
	return c
}

// listed returns the page that an item of the list is about; nil if it begins with
// something else than a link to a page.
func listed(item ast.Node, text []byte) *page {
	line := item.FirstChild()
	if line == nil {
		return nil
	}
	link, ok := line.FirstChild().(*ast.Link)
	if !ok {
		return nil
	}
	name := path.Clean(string(link.Destination))
	if _, err := docs.Files.Open(name); err != nil || !strings.HasSuffix(name, ".md") {
		return nil
	}
	about := strings.TrimPrefix(strings.TrimPrefix(plain(line, text), plain(link, text)), ":")
	return &page{Title: plain(link, text), About: strings.TrimSpace(about), name: name, path: pathOf(name)}
}

// around returns the pages before and after one; nil where there is none.
func (c *contents) around(p *page) (previous, next *page) {
	for i, other := range c.pages {
		if other != p {
			continue
		}
		if i > 0 {
			previous = c.pages[i-1]
		}
		if i+1 < len(c.pages) {
			next = c.pages[i+1]
		}
	}
	return previous, next
}
