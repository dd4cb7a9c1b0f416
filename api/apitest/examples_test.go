package apitest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

// walk visits every node of the document that is not part of an example.
func walk(n *tree.Node, visit func(n *tree.Node)) {
	visit(n)
	for _, m := range n.Members {
		if m.Key != "example" && m.Key != "examples" {
			walk(m.Value, visit)
		}
	}
	for _, item := range n.Items {
		walk(item, visit)
	}
}

func TestEveryReferenceLeadsSomewhere(t *testing.T) {
	refs := 0
	walk(New(t).doc, func(n *tree.Node) {
		if ref := n.Ref(); ref != "" {
			refs++
			if n.Resolve() == nil {
				t.Errorf("%s: %s leads nowhere", n.Pointer, ref)
			}
		}
	})
	if refs < 100 {
		t.Errorf("only %d references seen", refs)
	}
}

func TestEveryComponentIsUsed(t *testing.T) {
	v, used := New(t), map[string]bool{}
	var visit func(n *tree.Node)
	visit = func(n *tree.Node) {
		used[n.Ref()] = true
		for _, m := range n.Members {
			visit(m.Value)
		}
		for _, item := range n.Items {
			visit(item)
		}
	}
	visit(v.doc)
	// No operation responds with 405: a path does, to methods that it lacks.
	used["#/components/responses/MethodNotAllowed"] = true
	for _, kind := range v.doc.Get("components").All() {
		for _, m := range kind.Value.All() {
			if ref := "#/components/" + kind.Key + "/" + m.Key; !used[ref] && kind.Key != "securitySchemes" {
				t.Errorf("%s is used nowhere", ref)
			}
		}
	}
}

// TestExamplesAreValid holds every example against the schema beside it: of
// bodies, parameters, headers and of schemas themselves.
func TestExamplesAreValid(t *testing.T) {
	v, seen := New(t), 0
	hold := func(schema, example *tree.Node) {
		seen++
		if example == nil {
			t.Errorf("%s has an example that is not there", schema.Pointer)
			return
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(example.Raw))
		if err != nil {
			t.Fatalf("%s: %v", example.Pointer, err)
		}
		if err := v.validate(schema, value); err != nil {
			t.Errorf("%s: %v", example.Pointer, err)
		}
	}
	walk(v.doc, func(n *tree.Node) {
		if n.Has("schema") && n.Ref() == "" {
			for _, x := range examples(n) {
				hold(n.Member("schema"), x.Value)
			}
		}
	})
	for _, m := range v.doc.Get("components", "schemas").All() {
		for _, x := range m.Value.Get("examples").List() {
			hold(m.Value, x)
		}
	}
	if seen < 60 {
		t.Errorf("only %d examples seen", seen)
	}
}

func TestEveryBodyHasAnExample(t *testing.T) {
	walk(New(t).doc, func(n *tree.Node) {
		contents := n.Member("content")
		if contents == nil || contents.Kind != tree.Object {
			return
		}
		for _, m := range contents.All() {
			wants := isJSON(m.Key) || m.Key == tree.FormType
			if wants && len(examples(m.Value)) == 0 && !strings.Contains(n.Pointer, "openapi.json") {
				t.Errorf("%s: %s has no example", n.Pointer, m.Key)
			}
		}
	})
}

// TestEveryFieldIsDescribed keeps the reference readable: a table of fields with
// empty cells helps nobody.
func TestEveryFieldIsDescribed(t *testing.T) {
	for _, s := range New(t).doc.Get("components", "schemas").All() {
		if s.Value.Get("description") == nil {
			t.Errorf("schema %s has no description", s.Key)
		}
	}
}
