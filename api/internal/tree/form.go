package tree

import (
	"net/url"
	"strings"
)

// FormType is the media type of forms.
const FormType = "application/x-www-form-urlencoded"

// Fields are the pairs of a form, in order.
type Fields [][2]string

// Form lays an object out as a form in bracket notation: nested keys stand in
// brackets, the items of an array under its key and [], unless that key ends in
// [] already.
func Form(object *Node) Fields {
	var fields Fields
	for _, m := range object.All() {
		fields = fields.add(m.Key, m.Value)
	}
	return fields
}

func (f Fields) add(key string, n *Node) Fields {
	switch n.Kind {
	case Object:
		for _, m := range n.Members {
			f = f.add(key+"["+m.Key+"]", m.Value)
		}
	case Array:
		if !strings.HasSuffix(key, "[]") {
			key += "[]"
		}
		for _, item := range n.Items {
			f = f.add(key, item)
		}
	default:
		f = append(f, [2]string{key, n.Text})
	}
	return f
}

// Encode writes the fields as the body of a request.
func (f Fields) Encode() string {
	var out strings.Builder
	for i, field := range f {
		if i > 0 {
			out.WriteByte('&')
		}
		out.WriteString(url.QueryEscape(field[0]) + "=" + url.QueryEscape(field[1]))
	}
	return out.String()
}
