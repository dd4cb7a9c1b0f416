package reference

import (
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

// Span is a piece of the words for a type: text, code or a link.
type Span struct {
	Text string
	Href string
	Code bool
}

// words says what a schema allows, in the words of its titles where it has them.
func (b *builder) words(n *tree.Node) []Span {
	if name := schemaName(n); b.shown[name] {
		return []Span{{Text: name, Href: "#" + name}}
	}
	if n = n.Resolve(); n == nil {
		return nil
	}
	if title := n.Get("title").String(); title != "" {
		return []Span{{Text: title}}
	}
	if value := n.Get("const"); value != nil {
		return []Span{literal(value)}
	}
	if values := n.Get("enum").List(); values != nil {
		return alternatives(values)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if options := n.Get(key).List(); options != nil && n.Get("properties") == nil {
			return b.either(options)
		}
	}
	if parts := n.Get("allOf").List(); parts != nil && n.Get("type") == nil {
		return b.words(parts[0])
	}
	return b.typeWords(n)
}

func (b *builder) typeWords(n *tree.Node) []Span {
	if parts := n.Get("prefixItems").List(); parts != nil {
		spans := []Span{{Text: "["}}
		for i, part := range parts {
			if i > 0 {
				spans = append(spans, Span{Text: ", "})
			}
			spans = append(spans, b.words(part)...)
		}
		return append(spans, Span{Text: "]"})
	}
	types := n.Get("type")
	names := types.List()
	if types != nil && names == nil {
		names = []*tree.Node{types}
	}
	if len(names) == 0 {
		return []Span{{Text: "any JSON"}}
	}
	var spans []Span
	for i, name := range names {
		if i > 0 {
			spans = append(spans, Span{Text: " or "})
		}
		if items := n.Get("items"); name.String() == "array" && items != nil {
			spans = append(spans, Span{Text: "array of "})
			spans = append(spans, b.words(n.Member("items"))...)
			continue
		}
		spans = append(spans, Span{Text: name.String()})
	}
	return spans
}

// either joins what is allowed with "or". An alternative that only widens the
// one before, such as the same words in capitals, adds nothing for a reader.
func (b *builder) either(options []*tree.Node) []Span {
	var spans []Span
	for _, o := range options {
		if o.Resolve().Get("type") == nil && o.Has("pattern") {
			continue
		}
		if len(spans) > 0 {
			spans = append(spans, Span{Text: " or "})
		}
		spans = append(spans, b.words(o)...)
	}
	return spans
}

func alternatives(values []*tree.Node) []Span {
	var spans []Span
	for i, value := range values {
		if i > 0 {
			spans = append(spans, Span{Text: " "})
		}
		if value.Kind == tree.Null {
			spans = append(spans, Span{Text: "or null"})
			continue
		}
		spans = append(spans, literal(value))
	}
	return spans
}

func literal(n *tree.Node) Span { return Span{Text: n.String(), Code: true} }

// limits says how long, large or many, for schemas without a title; a title
// stands for its limits, which the description then tells.
func limits(n *tree.Node) string {
	if n = n.Resolve(); n.Get("title") != nil {
		return ""
	}
	var parts []string
	add := func(low, high, unit string) {
		if s := span(n.Get(low).String(), n.Get(high).String()); s != "" {
			parts = append(parts, strings.TrimSpace(s+" "+unit))
		}
	}
	if n.Get("maxLength") != nil { // "not empty" goes without saying
		add("minLength", "maxLength", "characters")
	}
	add("minimum", "maximum", "")
	if value := n.Get("default"); value != nil && value.Kind != tree.Object {
		parts = append(parts, "default "+value.String())
	}
	return strings.Join(parts, ", ")
}

func span(low, high string) string {
	switch {
	case low != "" && high != "":
		return thousands(low) + " to " + thousands(high)
	case high != "":
		return "up to " + thousands(high)
	case low != "" && low != "1": // ids and counts begin at 1 without saying
		return thousands(low) + " or more"
	}
	return ""
}

func thousands(digits string) string {
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1000 {
		return digits
	}
	return thousands(strconv.Itoa(n/1000)) + "," + digits[len(digits)-3:]
}

func schemaName(n *tree.Node) string {
	name, ok := strings.CutPrefix(n.Ref(), "#/components/schemas/")
	if !ok {
		return ""
	}
	return name
}
