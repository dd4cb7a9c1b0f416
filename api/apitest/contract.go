package apitest

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/punctual-dev/punctual/api"
	"github.com/punctual-dev/punctual/api/internal/tree"
)

// base is the name the document goes by among schemas; it is never fetched.
const base = "mem:///openapi.json"

// Validator checks exchanges against the document.
type Validator struct {
	doc     *tree.Node
	routes  []*route
	schemas map[string]*jsonschema.Schema // by pointer into the document
}

// route is one path of the document.
type route struct {
	path     string
	segments []string
	methods  map[string]*tree.Node
	item     *tree.Node
}

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

var load = sync.OnceValues(func() (*Validator, error) { return newValidator(api.JSON()) })

// New returns a validator for the embedded document. It fails the test when the
// document can't be used.
func New(t testing.TB) *Validator {
	t.Helper()
	v, err := load()
	if err != nil {
		t.Fatalf("apitest: %v", err)
	}
	return v
}

func newValidator(doc []byte) (*Validator, error) {
	root, err := tree.Parse(doc)
	if err != nil {
		return nil, err
	}
	v := &Validator{doc: root, schemas: map[string]*jsonschema.Schema{}}
	for _, path := range root.Get("paths").All() {
		r := &route{path: path.Key, segments: split(path.Key), item: path.Value.Resolve(), methods: map[string]*tree.Node{}}
		for _, m := range path.Value.All() {
			if slices.Contains(methods, m.Key) {
				r.methods[strings.ToUpper(m.Key)] = m.Value.Resolve()
			}
		}
		v.routes = append(v.routes, r)
	}
	return v, v.compile(doc)
}

// compile prepares every schema that Check or an example may need: those of
// contents, headers, parameters and components.
func (v *Validator) compile(doc []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(base, value); err != nil {
		return err
	}
	var visit func(n *tree.Node) error
	visit = func(n *tree.Node) error {
		for _, m := range n.Members {
			switch m.Key {
			case "example", "examples":
				continue // data, where a member may bear any name
			case "schema":
				if err := v.add(c, m.Value); err != nil {
					return err
				}
				continue
			case "schemas":
				for _, s := range m.Value.Members {
					if err := v.add(c, s.Value); err != nil {
						return err
					}
				}
				continue
			}
			if err := visit(m.Value); err != nil {
				return err
			}
		}
		for _, item := range n.Items {
			if err := visit(item); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(v.doc)
}

func (v *Validator) add(c *jsonschema.Compiler, n *tree.Node) error {
	s, err := c.Compile(base + (&url.URL{Fragment: n.Pointer}).String())
	if err != nil {
		return fmt.Errorf("the schema at %s: %w", n.Pointer, err)
	}
	v.schemas[n.Pointer] = s
	return nil
}

// find returns the route of a path. A literal segment wins over a parameter.
func (v *Validator) find(path string) *route {
	segments := split(path)
	var best *route
	for _, r := range v.routes {
		if r.matches(segments) && (best == nil || r.literals() > best.literals()) {
			best = r
		}
	}
	return best
}

func (r *route) matches(segments []string) bool {
	if len(segments) != len(r.segments) {
		return false
	}
	for i, s := range r.segments {
		if s != segments[i] && (!parameter(s) || segments[i] == "") {
			return false
		}
	}
	return true
}

func (r *route) literals() (n int) {
	for _, s := range r.segments {
		if !parameter(s) {
			n++
		}
	}
	return n
}

func parameter(segment string) bool { return strings.HasPrefix(segment, "{") }

func split(path string) []string { return strings.Split(strings.TrimPrefix(path, "/"), "/") }
