package reference

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"strings"
	"sync"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

// Page is the rendered reference.
type Page struct {
	HTML []byte
	// CSP is the Content-Security-Policy that allows what the page has.
	CSP string
}

var (
	//go:embed page.css
	css string
	//go:embed page.html
	markup string
	//go:embed parts.html
	partsMarkup string

	page = template.Must(template.Must(template.New("page").Parse(markup)).New("parts").Parse(partsMarkup)).Lookup("page")
)

// Frame is what the site around the page adds to it. The zero Frame leaves the
// page alone: it then loads nothing.
type Frame struct {
	Head template.HTML // at the end of the head
	Nav  template.HTML // before the contents
}

// Style is the style sheet of the page, for pages that look alike.
var Style = sync.OnceValue(func() string { return squeeze(css) })

// Render makes the page from an OpenAPI document in JSON and programs that make its
// calls. With a frame, its policy also allows scripts, styles, images and requests of the service itself.
func Render(doc []byte, programs []Program, frame Frame) (Page, error) {
	v, err := read(doc, programs)
	if err != nil {
		return Page{}, err
	}
	style := Style()
	v.Frame = frame
	v.Style = template.CSS(style) //nolint:gosec // our own file
	var out bytes.Buffer
	if err := page.Execute(&out, v); err != nil {
		return Page{}, err
	}
	return Page{HTML: out.Bytes(), CSP: policy(style, frame != Frame{})}, nil
}

// read returns what all pages show.
func read(doc []byte, programs []Program) (*View, error) {
	root, err := tree.Parse(doc)
	if err != nil {
		return nil, err
	}
	v, err := build(root)
	if err != nil {
		return nil, err
	}
	v.addSamples(programs)
	return v, nil
}

// policy allows the one style sheet, by hash, and an empty icon, which keeps
// browsers from asking for /favicon.ico; framed pages also load what the service has.
func policy(style string, framed bool) string {
	sum := sha256.Sum256([]byte(style))
	own, loads := "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", ""
	if framed {
		own, loads = own+" 'self'", " 'self'; font-src 'self'; script-src 'self'; connect-src 'self'"
	}
	return "default-src 'none'; style-src " + own + "; img-src data:" + loads +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// squeeze drops the indentation of a style sheet. It must not end up in the
// page in another form than it was hashed in.
func squeeze(css string) string {
	var out strings.Builder
	for line := range strings.Lines(css) {
		out.WriteString(strings.TrimSpace(line))
	}
	return out.String()
}
