package yamljson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// FromJSON returns a JSON document as YAML in block style. Keys keep their
// order and numbers their digits.
func FromJSON(doc []byte) ([]byte, error) {
	// JSON is YAML in flow style, but YAML has no surrogate pairs and no \/, so
	// strings are written with the fewest escapes first.
	text := jsontext.Value(bytes.Clone(doc))
	if err := text.Format(jsontext.PreserveRawStrings(false)); err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	block(&root)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// block removes the flow style and the quotes that the encoder can do without.
func block(n *yaml.Node) {
	switch {
	case n.Kind != yaml.ScalarNode:
		if len(n.Content) > 0 {
			n.Style &^= yaml.FlowStyle
		}
	case n.ShortTag() == "!!str":
		n.Tag, n.Style = "!!str", 0
	}
	for _, child := range n.Content {
		block(child)
	}
}
