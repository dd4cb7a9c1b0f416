package docsite

import "strings"

// Guide is a page of the documentation as its Markdown.
type Guide struct {
	Name         string // such as quickstart
	Title, About string
	page         *page
}

// Guides returns all pages in their order, the list of pages apart.
func Guides() []Guide {
	var all []Guide
	for _, p := range readContents().pages[1:] {
		name := strings.TrimPrefix(strings.TrimPrefix(p.path, Prefix+"/"), "guides/")
		all = append(all, Guide{Name: strings.ReplaceAll(name, "/", "-"), Title: p.Title, About: p.About, page: p})
	}
	return all
}

// Markdown returns the guide's text, with links to the site's pages.
func (g *Guide) Markdown() []byte { return g.page.markdown() }
