package docsite

import (
	"bytes"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/punctual-dev/punctual/docs"
)

// repository is where links to files that the site doesn't have lead.
const repository = "https://github.com/punctual-dev/punctual/blob/main/"

// markdown renders pages. Raw HTML is left out unless the renderer is told otherwise.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(headings{}, 100))),
)

// heading is a place in a page that can be linked to.
type heading struct {
	ID, Title string
	Level     int
}

// parsed is a rendered page.
type parsed struct {
	html     []byte
	headings []heading // of the second and third level
}

func parse(source []byte) ast.Node {
	return markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&githubIDs{}))))
}

// parse renders the page.
func (p *page) parse() parsed {
	source := source(p.name)
	document := parse(source)
	var result parsed
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(resolve(p.name, string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(resolve(p.name, string(n.Destination)))
			n.SetAttributeString("loading", []byte("lazy"))
		case *ast.Heading:
			if n.Level == 2 || n.Level == 3 {
				result.headings = append(result.headings, heading{ID: headingID(n), Title: plain(n, source), Level: n.Level})
			}
		}
		return ast.WalkContinue, nil
	})
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, document); err != nil {
		panic("docsite: " + p.name + " can't be rendered: " + err.Error())
	}
	// Text has no < in it, so these are the tables and the code. They scroll where they
	// don't fit, which must work by keyboard.
	html := bytes.ReplaceAll(out.Bytes(), []byte("<table>"),
		[]byte(`<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>`))
	html = bytes.ReplaceAll(html, []byte("</table>"), []byte("</table></div>"))
	result.html = bytes.ReplaceAll(html, []byte("<pre>"), []byte(`<pre tabindex="0">`))
	return result
}

// resolve returns where a link of a page leads on the site.
func resolve(from, destination string) string {
	if strings.HasPrefix(destination, "#") || strings.Contains(destination, "://") || strings.HasPrefix(destination, "mailto:") {
		return destination
	}
	name, fragment, _ := strings.Cut(destination, "#")
	if fragment != "" {
		fragment = "#" + fragment
	}
	name = path.Join(path.Dir(from), name)
	switch {
	case name == "../api/openapi.yaml":
		return "/openapi.json"
	case strings.HasPrefix(name, "../"):
		return repository + strings.TrimPrefix(name, "../") + fragment
	case strings.HasPrefix(name, "images/"):
		return Prefix + "/" + name
	}
	if _, err := fs.Stat(docs.Files, name); err != nil {
		return repository + "docs/" + name + fragment // for those who change the code
	}
	return pathOf(name) + fragment
}

func headingID(n *ast.Heading) string {
	id, _ := n.AttributeString("id")
	value, _ := id.([]byte)
	return string(value)
}

// plain returns the text of a node without marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *ast.FencedCodeBlock:
			writeLines(&b, n.Lines(), source)
		case *ast.CodeBlock:
			writeLines(&b, n.Lines(), source)
		case *ast.Paragraph, *ast.ListItem, *ast.TextBlock:
			b.WriteByte(' ')
		default:
			if n.Kind().String() == "TableCell" {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

func writeLines(b *strings.Builder, lines *text.Segments, source []byte) {
	b.WriteByte(' ')
	for i := range lines.Len() {
		line := lines.At(i)
		b.Write(line.Value(source))
	}
}

// githubIDs makes the ids of headings as GitHub does, so that a link to a heading works
// on both sites.
type githubIDs struct{ used map[string]int }

// Generate implements parser.IDs.
func (d *githubIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	id := b.String()
	if d.used == nil {
		d.used = map[string]int{}
	}
	n := d.used[id]
	d.used[id]++
	if n > 0 {
		id += "-" + strconv.Itoa(n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (d *githubIDs) Put([]byte) {}

// headings renders headings with a link to themselves.
type headings struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (h headings) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, h.render)
}

func (headings) render(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.Heading)
	id := util.EscapeHTML([]byte(headingID(n)))
	level := strconv.Itoa(n.Level)
	if entering {
		_, _ = w.WriteString("<h" + level + ` id="` + string(id) + `">`)
		return ast.WalkContinue, nil
	}
	if n.Level > 1 {
		_, _ = w.WriteString(` <a class="anchor" href="#` + string(id) + `" aria-label="Link to this section">#</a>`)
	}
	_, _ = w.WriteString("</h" + level + ">\n")
	return ast.WalkContinue, nil
}
