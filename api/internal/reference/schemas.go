package reference

import (
	"fmt"
	"strings"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

// chooseSchemas decides which schemas get a place of their own: those with
// fields, unless they are described elsewhere, as the body of a request or message
// or as the envelope of a response.
func (b *builder) chooseSchemas() {
	told := map[string]bool{}
	b.eachBody(func(schema *tree.Node) { told[schemaName(schema)] = true })
	for _, m := range b.root.Get("components", "schemas").All() {
		fields := len(m.Value.Get("properties").All())
		if m.Value.Get("type") == nil {
			fields = 2 * len(b.variants(m.Value))
		}
		b.shown[m.Key] = fields > 1 && !told[m.Key]
	}
}

// eachBody visits the schemas of what clients send and of what the service
// sends to them.
func (b *builder) eachBody(visit func(schema *tree.Node)) {
	operation := func(op *tree.Node) {
		for _, content := range op.Get("requestBody", "content").All() {
			visit(content.Value.Member("schema"))
		}
	}
	for _, path := range b.root.Get("paths").All() {
		for _, op := range path.Value.All() {
			operation(op.Value)
		}
	}
	b.eachMessage(func(_ string, op *tree.Node) { operation(op) })
}

// eachMessage visits what the service sends: callbacks first, then webhooks.
func (b *builder) eachMessage(visit func(name string, op *tree.Node)) {
	for _, path := range b.root.Get("paths").All() {
		for _, op := range path.Value.All() {
			for _, callback := range op.Value.Get("callbacks").All() {
				for _, expression := range callback.Value.All() {
					visit("callback", expression.Value.Get("post"))
				}
			}
		}
	}
	for _, m := range b.root.Get("webhooks").All() {
		visit(m.Key, m.Value.Get("post"))
	}
}

// messages puts callbacks and webhooks under their tag and returns that group.
// Their headers are the same and are described once.
func (b *builder) messages(v *View) (*Group, error) {
	var group *Group
	var err error
	b.eachMessage(func(name string, n *tree.Node) {
		op := &Operation{
			ID: n.Get("operationId").String(), Method: "POST", Path: name,
			Summary:     n.Get("summary").String(),
			Description: prose(n.Get("description").String()),
		}
		for _, content := range n.Get("requestBody", "content").All() {
			schema := content.Value.Get("schema")
			op.Body = &Body{Fields: b.fields(schema, "", received)}
			for _, x := range content.Value.Get("examples").All() {
				op.Examples = append(op.Examples, Example{x.Value.Get("summary").String(), event(x.Value.Get("value"))})
			}
		}
		if v.Signed == nil {
			for _, p := range n.Get("parameters").List() {
				header := b.parameter(p)
				header.In, header.Mark = "", ""
				v.Signed = append(v.Signed, header)
			}
		}
		if e := b.place(op, n); e != nil {
			err = e
			return
		}
		group = b.groups[n.Get("tags").List()[0].String()]
	})
	if err == nil && group == nil {
		err = fmt.Errorf("the document describes no callbacks or webhooks")
	}
	return group, err
}

func (b *builder) schemas() []Schema {
	var list []Schema
	for _, m := range b.root.Get("components", "schemas").All() {
		if !b.shown[m.Key] {
			continue
		}
		list = append(list, Schema{
			Name: m.Key, Description: prose(m.Value.Get("description").String()),
			Fields: b.fields(m.Value, "", received), Variants: b.variants(m.Value),
		})
	}
	return list
}

// variants describes the alternatives of a schema: whole shapes, or what one field
// holds depending on the constant in another.
func (b *builder) variants(schema *tree.Node) []Variant {
	var list []Variant
	dependent := Variant{}
	for _, option := range schema.Get("oneOf").List() {
		properties := option.Get("properties").All()
		switch title := option.Get("title").String(); {
		case title != "":
			list = append(list, Variant{title, b.fields(option, "", received)})
		case len(properties) == 2 && properties[0].Value.Get("const") != nil:
			on, held := properties[0], properties[1]
			dependent.Title = strings.Join([]string{held.Key, "by", on.Key}, " ")
			f := Field{Name: on.Value.Get("const").String(), Type: b.words(held.Value)}
			f.Description = prose(strings.TrimPrefix(held.Value.Get("description").String(), "`"+f.Name+"`: "))
			dependent.Fields = append(dependent.Fields, f)
		}
	}
	if dependent.Fields != nil {
		list = append(list, dependent)
	}
	return list
}
