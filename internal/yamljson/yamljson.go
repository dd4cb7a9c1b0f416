package yamljson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxExpanded bounds the JSON of a document in bytes. Aliases can make it
// exponentially larger than the document.
const maxExpanded = 64 << 20

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
		var compact bytes.Buffer
		if err := write(&compact, root.Content[0]); err != nil {
			return nil, err
		}
		if size += compact.Len(); size > maxExpanded {
			return nil, errTooLarge
		}
		all = append(all, compact.Bytes())
	}
}

var errTooLarge = fmt.Errorf("the document has more than %d MiB when its aliases are expanded", maxExpanded>>20)

func write(out *bytes.Buffer, n *yaml.Node) error {
	if out.Len() > maxExpanded {
		return errTooLarge
	}
	switch n.Kind {
	case yaml.AliasNode:
		return write(out, n.Alias)
	case yaml.MappingNode:
		return writeObject(out, n)
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := write(out, item); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		return writeScalar(out, n)
	default:
		return fmt.Errorf("line %d: a node of kind %d has no JSON", n.Line, n.Kind)
	}
}

func writeObject(out *bytes.Buffer, n *yaml.Node) error {
	seen := make(map[string]bool, len(n.Content)/2)
	out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
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
		if err := write(out, value); err != nil {
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
