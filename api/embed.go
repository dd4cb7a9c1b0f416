package api

import (
	"bytes"
	_ "embed"

	"github.com/punctual-dev/punctual/api/internal/reference"
)

//go:generate go run ./internal/generate openapi.yaml openapi.json

var (
	//go:embed openapi.json
	jsonDocument []byte
	//go:embed samples/samples.sh
	shellSamples string
	//go:embed samples/main.go
	goSamples string
	//go:embed samples/samples.ts
	typeScriptSamples string
	//go:embed samples/samples.py
	pythonSamples string
)

// programs make the calls that the reference shows besides requests with curl.
var programs = []reference.Program{
	{Language: "Command line", Text: shellSamples}, {Language: "Go", Text: goSamples},
	{Language: "TypeScript", Text: typeScriptSamples}, {Language: "Python", Text: pythonSamples},
}

// JSON returns the OpenAPI document as it is served, in a copy.
func JSON() []byte { return bytes.Clone(jsonDocument) }

// Frame is what the site around the reference adds to it.
type Frame = reference.Frame

// Reference renders the readable reference: one HTML page, and the
// Content-Security-Policy to serve it under. With the zero Frame the page is
// self-contained. The document is embedded, so a failure is a defect that any test
// of the page finds: it panics.
func Reference(frame Frame) (html []byte, csp string) {
	page, err := reference.Render(jsonDocument, programs, frame)
	if err != nil {
		panic("api: the reference can't be rendered: " + err.Error())
	}
	return page.HTML, page.CSP
}

// The pages that [ReferenceParts] makes, and where they are.
type (
	ReferencePart  = reference.Part
	ReferencePaths = reference.Paths
)

// ReferenceSlugs are the slugs of the parts in their order, without the first page's,
// which is empty.
var ReferenceSlugs = []string{
	"jobs", "schedules", "logs", "alerts", "account", "groups", "runs", "limits", "many-jobs", "secrets", "trying-it-out", "operations",
	"callbacks-and-webhooks", "errors", "schemas",
}

// ReferenceParts renders the reference as a page for each group of calls, within the
// frame of a site. The pages load the style sheet that the frame names. It panics as
// [Reference] does.
func ReferenceParts(frame Frame, paths ReferencePaths) []ReferencePart {
	parts, err := reference.RenderParts(jsonDocument, programs, frame, paths)
	if err != nil {
		panic("api: the reference can't be rendered: " + err.Error())
	}
	return parts
}

// ReferenceStyle returns the style sheet of the reference.
func ReferenceStyle() string { return reference.Style() }
