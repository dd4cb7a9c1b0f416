package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Kind is the type of a JSON value.
type Kind int

// The kinds of nodes.
const (
	Object Kind = iota
	Array
	String
	Number
	Bool
	Null
)

// Node is one value of a document. All methods may be called on a nil node,
// which stands for what is not there.
type Node struct {
	Kind    Kind
	Members []Member // of an object, in order
	Items   []*Node  // of an array
	Text    string   // a string's value; else the literal of a scalar
	Raw     []byte   // the JSON as it was written
	Pointer string   // where it stands, as a JSON pointer (RFC 6901)
	root    *Node
}

// Member is one key of an object and its value.
type Member struct {
	Key   string
	Value *Node
}

// Parse reads one JSON document.
func Parse(doc []byte) (*Node, error) {
	p := parser{doc: doc, dec: json.NewDecoder(bytes.NewReader(doc))}
	p.dec.UseNumber()
	root := &Node{}
	p.root = root
	if err := p.read(root, ""); err != nil {
		return nil, err
	}
	if p.dec.More() {
		return nil, fmt.Errorf("something follows the document")
	}
	return root, nil
}

type parser struct {
	doc  []byte
	dec  *json.Decoder
	root *Node
}

func (p *parser) read(n *Node, pointer string) error {
	tok, err := p.dec.Token()
	if err != nil {
		return err
	}
	n.root, n.Pointer = p.root, pointer
	start := int(p.dec.InputOffset())
	switch tok := tok.(type) {
	case json.Delim:
		start--
		if tok == '{' {
			err = p.readObject(n)
		} else {
			err = p.readArray(n)
		}
		if err != nil {
			return err
		}
		n.Raw = p.doc[start:p.dec.InputOffset()]
		return nil
	case string:
		n.Kind, n.Text = String, tok
		n.Raw, err = encode(tok)
		return err
	case json.Number:
		n.Kind, n.Text = Number, tok.String()
	case bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(tok)
	case nil:
		n.Kind, n.Text = Null, "null"
	}
	n.Raw = []byte(n.Text)
	return nil
}

func (p *parser) readObject(n *Node) error {
	n.Kind = Object
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return err
		}
		key, value := tok.(string), &Node{}
		if err := p.read(value, n.Pointer+"/"+escape(key)); err != nil {
			return err
		}
		n.Members = append(n.Members, Member{key, value})
	}
	_, err := p.dec.Token()
	return err
}

func (p *parser) readArray(n *Node) error {
	n.Kind = Array
	for p.dec.More() {
		value := &Node{}
		if err := p.read(value, n.Pointer+"/"+strconv.Itoa(len(n.Items))); err != nil {
			return err
		}
		n.Items = append(n.Items, value)
	}
	_, err := p.dec.Token()
	return err
}

// Get returns the node at a path of keys, nil when there is none. References met
// on the way are followed, one at the end too.
func (n *Node) Get(path ...string) *Node {
	n = n.Resolve()
	for _, key := range path {
		n = n.member(key).Resolve()
	}
	return n
}

// Has reports whether an object has a key, whatever its value.
func (n *Node) Has(key string) bool { return n.Resolve().member(key) != nil }

// Own returns a value that stands in the node itself, also beside a reference.
func (n *Node) Own(key string) *Node { return n.member(key) }

// Member returns an object's value for a key as it stands, a reference unfollowed.
func (n *Node) Member(key string) *Node { return n.Resolve().member(key) }

func (n *Node) member(key string) *Node {
	if n == nil {
		return nil
	}
	for _, m := range n.Members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// All returns the members of an object, references followed to the object.
func (n *Node) All() []Member {
	if n = n.Resolve(); n == nil {
		return nil
	}
	return n.Members
}

// List returns the items of an array, none for anything else.
func (n *Node) List() []*Node {
	if n = n.Resolve(); n == nil {
		return nil
	}
	return n.Items
}

// String returns the value of a string or the literal of another scalar, and ""
// for what is not there.
func (n *Node) String() string {
	if n = n.Resolve(); n == nil {
		return ""
	}
	return n.Text
}

// Ref returns where a reference points, "" when the node is none.
func (n *Node) Ref() string {
	if r := n.member("$ref"); r != nil && r.Kind == String {
		return r.Text
	}
	return ""
}

// Resolve follows references within the document. A reference that leads
// nowhere returns nil.
func (n *Node) Resolve() *Node {
	for range 16 { // a chain longer than this is a circle
		ref := n.Ref()
		if ref == "" {
			return n
		}
		n = n.root.at(ref)
	}
	return nil
}

func (n *Node) at(ref string) *Node {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for key := range strings.SplitSeq(path, "/") {
		n = n.member(unescape(key))
	}
	return n
}

func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

func unescape(key string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(key) }

// encode writes a string as JSON for people, without HTML escapes.
func encode(s string) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
