package reference

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"strings"

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

	page = template.Must(template.New("page").Parse(markup))
)

// Render makes the page from an OpenAPI document in JSON.
func Render(doc []byte) (Page, error) {
	root, err := tree.Parse(doc)
	if err != nil {
		return Page{}, err
	}
	v, err := build(root)
	if err != nil {
		return Page{}, err
	}
	style := squeeze(css)
	v.Style = template.CSS(style) //nolint:gosec // our own file
	var out bytes.Buffer
	if err := page.Execute(&out, v); err != nil {
		return Page{}, err
	}
	return Page{HTML: out.Bytes(), CSP: policy(style)}, nil
}

// policy allows the one style sheet, by hash, and an empty icon, which keeps
// browsers from asking for /favicon.ico.
func policy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
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
