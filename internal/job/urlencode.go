package job

import (
	"net/url"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// encodeForm encodes an object as a form or query, in the order given. An array
// repeats the name, a nested object uses brackets, and null is omitted. It walks
// the object once and stops as soon as the text does not fit.
func encodeForm(object rawjson.Value, most int) (text []byte, ok bool) {
	w := formWriter{out: bounded{most: most}, c: rawjson.Walk(object)}
	w.members(0)
	return w.out.result(), !w.out.over
}

// formWriter writes a form while its cursor walks the object.
type formWriter struct {
	out  bounded
	c    *rawjson.Cursor
	name []byte // encoded name of the value at the cursor
}

// members writes the object at the cursor.
func (w *formWriter) members(depth int) {
	outer := len(w.name)
	for w.c.Enter(); !w.out.over && w.c.More(); w.name = w.name[:outer] {
		w.push(rawjson.Text(w.c.Name()), depth > 0)
		w.value(depth + 1)
	}
}

// push appends a step to the name, unless the name is already too long to be
// written.
func (w *formWriter) push(step string, brackets bool) {
	if len(w.name) > w.out.most {
		return
	}
	// The encoded form is at least as long.
	if len(step) > w.out.most {
		step = step[:w.out.most+1]
	}
	if brackets {
		w.name = append(w.name, '[')
		w.name = append(w.name, url.QueryEscape(step)...)
		w.name = append(w.name, ']')
	} else {
		w.name = append(w.name, url.QueryEscape(step)...)
	}
}

func (w *formWriter) value(depth int) {
	switch w.c.Kind() {
	case '{':
		w.members(depth)
	case '[':
		for w.c.Enter(); !w.out.over && w.c.More(); {
			w.scalar() // also structures, which forms can't express
		}
	default:
		w.scalar()
	}
}

// scalar writes the value at the cursor as a pair; it omits null.
func (w *formWriter) scalar() {
	isNull := w.c.Kind() == 'n'
	v := w.c.Value()
	if isNull {
		return
	}
	if len(w.out.b) > 0 {
		add(&w.out, "&")
	}
	add(&w.out, w.name)
	add(&w.out, "=")
	text := scalarText(v)
	if len(text) > w.out.remaining() {
		w.out.over = true // the encoded form would be at least as long
		return
	}
	add(&w.out, url.QueryEscape(text))
}

// scalarText returns a string's text, or any other value as written.
func scalarText(v rawjson.Value) string {
	if v.Kind() == '"' {
		return rawjson.Text(v)
	}
	return string(v)
}
