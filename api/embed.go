package api

import (
	"bytes"
	_ "embed"
	"sync"

	"github.com/punctual-dev/punctual/api/internal/reference"
)

//go:generate go run ./internal/generate openapi.yaml openapi.json

var (
	//go:embed openapi.yaml
	yamlDocument []byte
	//go:embed openapi.json
	jsonDocument []byte
)

// YAML returns the OpenAPI document as it was written.
func YAML() []byte { return bytes.Clone(yamlDocument) }

// JSON returns the OpenAPI document as it is served.
func JSON() []byte { return bytes.Clone(jsonDocument) }

// page is rendered on first use. Its only input is embedded, so a failure is a
// defect that any test of the page finds.
var page = sync.OnceValue(func() reference.Page {
	p, err := reference.Render(jsonDocument)
	if err != nil {
		panic("api: the reference can't be rendered: " + err.Error())
	}
	return p
})

// Reference returns the readable reference: one self-contained HTML page.
func Reference() []byte { return bytes.Clone(page().HTML) }

// ReferenceCSP returns the Content-Security-Policy to serve the reference under.
// It allows the page's own style sheet and nothing else.
func ReferenceCSP() string { return page().CSP }
