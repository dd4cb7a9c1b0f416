package reference

import (
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

type builder struct {
	root   *tree.Node
	shown  map[string]bool   // schemas that have a place of their own on the page
	groups map[string]*Group // by tag
}

// build decides what the page says.
func build(root *tree.Node) (*View, error) {
	b := &builder{root: root, shown: map[string]bool{}, groups: map[string]*Group{}}
	b.chooseSchemas()
	info := root.Get("info")
	v := &View{
		Title:   info.Get("title").String(),
		Version: info.Get("version").String(),
		Summary: info.Get("summary").String(),
		Intro:   prose(info.Get("description").String()),
		Problem: prose(root.Get("components", "schemas", "Problem", "description").String()),
	}
	for _, m := range root.Get("components", "securitySchemes").All() {
		v.Credentials = append(v.Credentials, line(m.Value.Get("description").String()))
	}
	var order []*Group
	for _, tag := range root.Get("tags").List() {
		title := tag.Get("name").String()
		g := &Group{ID: slug(title), Title: title, Description: prose(tag.Get("description").String())}
		b.groups[title] = g
		order = append(order, g)
	}
	if err := b.operations(); err != nil {
		return nil, err
	}
	messages, err := b.messages(v)
	if err != nil {
		return nil, err
	}
	for _, g := range order {
		if g == messages {
			v.Messages = *g
		} else {
			v.Groups = append(v.Groups, *g)
		}
	}
	v.Problems = b.problems()
	v.Schemas = b.schemas()
	return v, nil
}

// operations puts every call of the paths under its tag.
func (b *builder) operations() error {
	for _, path := range b.root.Get("paths").All() {
		shared := path.Value.Get("parameters").List()
		for _, m := range path.Value.All() {
			if m.Key == "parameters" {
				continue
			}
			op := b.operation(strings.ToUpper(m.Key), path.Key, m.Value.Resolve(), shared)
			if err := b.place(op, m.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) place(op *Operation, n *tree.Node) error {
	tags := n.Get("tags").List()
	if len(tags) != 1 || b.groups[tags[0].String()] == nil {
		return fmt.Errorf("operation %s needs one tag that the document describes", op.ID)
	}
	g := b.groups[tags[0].String()]
	g.Operations = append(g.Operations, op)
	return nil
}

func (b *builder) operation(method, path string, n *tree.Node, shared []*tree.Node) *Operation {
	security := n.Get("security")
	op := &Operation{
		ID: n.Get("operationId").String(), Method: method, Path: path,
		Summary:     n.Get("summary").String(),
		Description: prose(n.Get("description").String()),
		Key:         security == nil || len(security.List()) > 0,
	}
	for _, p := range append(shared[:len(shared):len(shared)], n.Get("parameters").List()...) {
		op.Parameters = append(op.Parameters, b.parameter(p))
	}
	contents := n.Get("requestBody", "content").All()
	for _, content := range contents {
		for _, x := range content.Value.Get("examples").All() {
			name := x.Value.Get("summary").String()
			if content.Key == tree.FormType && !strings.Contains(name, "form") {
				name += ", as a form"
			}
			op.Examples = append(op.Examples, Example{name, op.curl(content.Key, x.Value.Get("value"))})
		}
	}
	if len(contents) == 0 {
		op.Examples = []Example{{"Request", op.curl("", nil)}}
	} else {
		op.Body = b.requestBody(contents[0].Value)
	}
	b.responses(op, n.Get("responses"))
	return op
}

// requestBody describes the fields of a JSON body. That null is as good as absent
// is said once, not in every row.
func (b *builder) requestBody(content *tree.Node) *Body {
	schema := content.Get("schema")
	body := &Body{Note: prose(schema.Get("description").String()), Fields: b.fields(schema, "", sent)}
	for i := range body.Fields {
		body.Fields[i].Type = withoutNull(body.Fields[i].Type)
	}
	return body
}

func withoutNull(spans []Span) []Span {
	last := len(spans) - 1
	if last > 0 && strings.HasSuffix(spans[last].Text, "null") {
		return spans[:last-1]
	}
	return spans
}

func (b *builder) parameter(n *tree.Node) Field {
	n = n.Resolve()
	f := Field{
		Name:        n.Get("name").String(),
		In:          n.Get("in").String(),
		Type:        b.words(n.Member("schema")),
		Limits:      limits(n.Member("schema")),
		Mark:        sent.mark(n.Get("required").String() == "true"),
		Description: line(n.Get("description").String()),
	}
	if x := n.Get("example"); x != nil && x.Kind != tree.Array {
		f.example = x.String()
	}
	if all := n.Get("examples").All(); len(all) > 0 {
		f.example = all[0].Value.Get("value").String()
	}
	return f
}

// direction returns what is worth marking in a table: clients want to know what
// they have to send, and what they may not get.
type direction bool

const (
	sent     direction = true  // by clients
	received direction = false // by clients
)

func (d direction) mark(required bool) string {
	switch {
	case d == sent && required:
		return "required"
	case d == received && !required:
		return "optional"
	}
	return ""
}

// fields makes rows of an object's properties, under a prefix.
func (b *builder) fields(schema *tree.Node, prefix string, d direction) []Field {
	required := map[string]bool{}
	for _, name := range schema.Get("required").List() {
		required[name.String()] = true
	}
	var list []Field
	for _, m := range schema.Get("properties").All() {
		if nested := m.Value.Get("properties"); nested != nil && m.Value.Ref() == "" {
			list = append(list, b.fields(m.Value, prefix+m.Key+".", d)...)
			continue
		}
		list = append(list, Field{
			Name: prefix + m.Key, Type: b.words(m.Value), Limits: limits(m.Value),
			Mark: d.mark(required[m.Key]), Description: describe(m.Value),
		})
	}
	return list
}

// describe prefers what stands beside a reference to what it refers to.
func describe(n *tree.Node) template.HTML {
	own := n.Own("description")
	if own == nil {
		own = n.Get("description")
	}
	return prose(own.String())
}

func (b *builder) responses(op *Operation, responses *tree.Node) {
	for _, m := range responses.All() {
		if m.Value.Get("content", problemType) != nil {
			name := strings.TrimPrefix(m.Value.Ref(), "#/components/responses/")
			op.Refusals = append(op.Refusals, Refusal{m.Key, reason(m.Key), "#" + name})
			continue
		}
		op.Responses = append(op.Responses, b.response(m.Key, m.Value))
	}
}

const problemType = "application/problem+json"

func (b *builder) response(status string, n *tree.Node) Response {
	r := Response{Status: status, Reason: reason(status), Description: prose(n.Get("description").String())}
	for _, h := range n.Get("headers").All() {
		r.Headers = append(r.Headers, Field{Name: h.Key, Description: line(h.Value.Get("description").String())})
	}
	for _, content := range n.Get("content").All() {
		if r.Media == "" {
			r.Media, r.Type = content.Key, b.envelope(content.Value.Member("schema"))
		}
		for _, x := range content.Value.Get("examples").All() {
			name, value := x.Value.Get("summary").String(), x.Value.Get("value")
			code := sample(value)
			if !strings.Contains(content.Key, "json") {
				code = template.HTML(template.HTMLEscapeString(value.String())) //nolint:gosec // escaped
			}
			r.Examples = append(r.Examples, Example{name, code})
		}
	}
	return r
}

// envelope returns the type of a response, with what stands under data.
func (b *builder) envelope(schema *tree.Node) []Span {
	inner := schema.Resolve()
	for inner.Get("properties") == nil && len(inner.Get("allOf").List()) > 0 {
		inner = inner.Get("allOf").List()[0].Resolve()
	}
	if members := inner.Get("properties").All(); len(members) == 1 && members[0].Key == "data" {
		spans := append([]Span{{Text: `{"data": `}}, b.words(members[0].Value)...)
		return append(spans, Span{Text: "}"})
	}
	return b.words(schema)
}

// problems lists the errors, each explained once for all calls.
func (b *builder) problems() []Response {
	var list []Response
	for _, m := range b.root.Get("components", "responses").All() {
		schema := m.Value.Get("content", problemType, "schema")
		for _, part := range schema.Get("allOf").List() {
			if status := part.Get("properties", "status", "const").String(); status != "" {
				r := b.response(status, m.Value)
				r.ID = m.Key
				list = append(list, r)
			}
		}
	}
	return list
}

// reason returns the words of a status as RFC 9110 has them; net/http still knows
// two by their older names.
func reason(status string) string {
	switch status {
	case "413":
		return "Content Too Large"
	case "422":
		return "Unprocessable Content"
	}
	code, err := strconv.Atoi(status)
	if err != nil {
		return ""
	}
	return http.StatusText(code)
}

func slug(title string) string { return strings.ReplaceAll(strings.ToLower(title), " ", "-") }
