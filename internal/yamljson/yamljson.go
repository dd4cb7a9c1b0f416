package yamljson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

const (
	// maxExpanded bounds the JSON of a document in bytes. Aliases can make it
	// exponentially larger than the document.
	maxExpanded = 64 << 20
	// maxDepth bounds how deep it is nested. The parser has the same limit, but
	// aliases can make the JSON deeper than the document.
	maxDepth = 10_000
)

// Convert returns the document as indented JSON with a newline at its end. It
// returns an error, which names the line, for what JSON can't express.
func Convert(doc []byte) ([]byte, error) {
	all, err := Documents(doc)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, errors.New("expected one YAML document")
	}
	var out bytes.Buffer
	if err := json.Indent(&out, all[0], "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// Documents returns each document of a YAML stream as compact JSON. Its errors
// are those of Convert.
func Documents(stream []byte) ([][]byte, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(stream))
	var all [][]byte
	for size := 0; ; {
		var root yaml.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
			return nil, errors.New("expected a YAML document")
		}
		w := &writer{expanding: map[*yaml.Node]bool{}}
		if err := w.write(root.Content[0]); err != nil {
			return nil, err
		}
		if size += w.out.Len(); size > maxExpanded {
			return nil, errTooLarge
		}
		all = append(all, w.out.Bytes())
	}
}

var errTooLarge = fmt.Errorf("the document has more than %d MiB when its aliases are expanded", maxExpanded>>20)

// writer writes a document as JSON.
type writer struct {
	out       bytes.Buffer
	depth     int
	expanding map[*yaml.Node]bool // the nodes that aliases around this place stand for
}

func (w *writer) write(n *yaml.Node) error {
	if w.out.Len() > maxExpanded {
		return errTooLarge
	}
	if w.depth++; w.depth > maxDepth {
		return fmt.Errorf("line %d: the document is nested more than %d deep when its aliases are expanded", n.Line, maxDepth)
	}
	defer func() { w.depth-- }()
	switch n.Kind {
	case yaml.AliasNode:
		return w.writeAlias(n)
	case yaml.MappingNode:
		return w.writeObject(n)
	case yaml.SequenceNode:
		w.out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				w.out.WriteByte(',')
			}
			if err := w.write(item); err != nil {
				return err
			}
		}
		w.out.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		return writeScalar(&w.out, n)
	default:
		return fmt.Errorf("line %d: a node of kind %d has no JSON", n.Line, n.Kind)
	}
}

// writeAlias writes what an alias stands for, which must not contain the alias.
func (w *writer) writeAlias(n *yaml.Node) error {
	if w.expanding[n.Alias] {
		return fmt.Errorf("line %d: *%s stands for a value that contains it; JSON can't express that", n.Line, n.Value)
	}
	w.expanding[n.Alias] = true
	defer delete(w.expanding, n.Alias)
	return w.write(n.Alias)
}

func (w *writer) writeObject(n *yaml.Node) error {
	out := &w.out
	seen := make(map[string]bool, len(n.Content)/2)
	out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			return fmt.Errorf("line %d: << can't merge a mapping into another; write its members out, or use an alias for a whole value",
				key.Line)
		}
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key must be a plain string", key.Line)
		}
		if seen[key.Value] {
			return fmt.Errorf("line %d: key %q is given twice", key.Line, key.Value)
		}
		seen[key.Value] = true
		if i > 0 {
			out.WriteByte(',')
		}
		if err := writeString(out, key.Value); err != nil {
			return err
		}
		out.WriteByte(':')
		if err := w.write(value); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

func writeScalar(out *bytes.Buffer, n *yaml.Node) error {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return writeString(out, n.Value)
	case "!!null":
		out.WriteString("null")
		return nil
	case "!!bool", "!!int", "!!float":
		if !json.Valid([]byte(n.Value)) {
			return fmt.Errorf("line %d: %q is not a JSON number or boolean; quote it", n.Line, n.Value)
		}
		out.WriteString(n.Value)
		return nil
	default:
		return fmt.Errorf("line %d: %s has no JSON; quote it", n.Line, tag)
	}
}

func writeString(out *bytes.Buffer, s string) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the encoder's newline
	return nil
}
