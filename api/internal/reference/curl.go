package reference

import (
	"html"
	"html/template"
	"net/url"
	"strings"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

// curl writes a command that makes the call as it stands, once PUNCTUAL_URL and
// PUNCTUAL_API_KEY are set.
func (o *Operation) curl(contentType string, body *tree.Node) template.HTML {
	lines := []string{`curl "$PUNCTUAL_URL` + html.EscapeString(o.target()) + `"`}
	if o.Method == "DELETE" || o.Method == "POST" && body == nil {
		lines[0] = strings.Replace(lines[0], "curl ", "curl -X "+o.Method+" ", 1)
	}
	if o.Key {
		lines = append(lines, `-H "Authorization: Bearer $PUNCTUAL_API_KEY"`)
	}
	switch {
	case body == nil:
	case contentType == tree.FormType:
		for _, field := range tree.Form(body) {
			pair := strings.ReplaceAll(field[0]+"="+field[1], "'", `'\''`)
			lines = append(lines, "--data-urlencode '"+html.EscapeString(pair)+"'")
		}
	default:
		lines = append(lines, "--json '"+shellSample(body)+"'")
	}
	return template.HTML(strings.Join(lines, " \\\n  ")) //nolint:gosec // escaped above
}

// target fills the path's parameters with their examples, and shows how a list
// is narrowed: by its first filter and its limit.
func (o *Operation) target() string {
	path := o.Path
	query := ""
	filtered := false
	for _, p := range o.Parameters {
		value := p.example
		if value == "" {
			continue
		}
		switch {
		case p.In == "path":
			path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(value), 1)
		case p.In == "query" && (p.Name == "limit" || !filtered):
			filtered = true
			query += "&" + p.Name + "=" + url.QueryEscape(value)
		}
	}
	if query != "" {
		path += "?" + query[1:]
	}
	return path
}
