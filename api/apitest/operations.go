package apitest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

// Operation is one call of the API as the document describes it.
type Operation struct {
	Method     string // upper case
	Path       string // a template: /api/jobs/{job_id}
	ID         string
	Open       bool // takes no credentials
	Parameters []Parameter
	Requests   []Request
}

// Parameter is one parameter of an operation.
type Parameter struct {
	Name     string
	In       string // path, query or header
	Required bool
	Schema   json.RawMessage
	Examples []json.RawMessage
}

// Request is one example of a request body.
type Request struct {
	Name        string
	ContentType string
	// Value is the example as it stands in the document.
	Value json.RawMessage
	// Body is what to send: Value, or for a form its encoding.
	Body []byte
}

// Operations lists the calls in the order of the document.
func (v *Validator) Operations() []Operation {
	var ops []Operation
	for _, r := range v.routes {
		for _, m := range r.item.All() {
			if !slices.Contains(methods, m.Key) {
				continue
			}
			op := m.Value.Resolve()
			security := op.Get("security")
			ops = append(ops, Operation{
				Method:     strings.ToUpper(m.Key),
				Path:       r.path,
				ID:         op.Get("operationId").String(),
				Open:       security != nil && len(security.List()) == 0,
				Parameters: parameters(r.item, op),
				Requests:   requests(op),
			})
		}
	}
	return ops
}

// parameters returns the path's own first, then the operation's.
func parameters(item, op *tree.Node) []Parameter {
	var list []Parameter
	for _, n := range slices.Concat(item.Get("parameters").List(), op.Get("parameters").List()) {
		n = n.Resolve()
		p := Parameter{
			Name:     n.Get("name").String(),
			In:       n.Get("in").String(),
			Required: n.Get("required").String() == "true",
			Schema:   n.Get("schema").Raw,
		}
		for _, x := range examples(n) {
			p.Examples = append(p.Examples, x.Value.Raw)
		}
		list = append(list, p)
	}
	return list
}

func requests(op *tree.Node) []Request {
	var list []Request
	for _, content := range op.Get("requestBody", "content").All() {
		for _, x := range examples(content.Value) {
			r := Request{Name: x.Key, ContentType: content.Key, Value: x.Value.Raw, Body: x.Value.Raw}
			if content.Key == tree.FormType {
				r.Body = []byte(tree.Form(x.Value).Encode())
			}
			list = append(list, r)
		}
	}
	return list
}

// examples returns the values under example and examples, by name.
func examples(n *tree.Node) []tree.Member {
	var list []tree.Member
	if x := n.Get("example"); x != nil {
		list = append(list, tree.Member{Key: "example", Value: x})
	}
	for _, m := range n.Get("examples").All() {
		list = append(list, tree.Member{Key: m.Key, Value: m.Value.Get("value")})
	}
	return list
}
