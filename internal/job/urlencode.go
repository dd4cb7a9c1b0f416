package job

import (
	"net/url"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// encodeForm encodes an object as a form or query: in the order given, arrays
// repeating the name, nested objects in brackets, null left out. It walks the
// object once, and stops as soon as the text does not fit.
func encodeForm(object rawjson.Value, most int) (text []byte, ok bool) {
	w := formWriter{out: bounded{most: most}, c: rawjson.Walk(object)}
	w.members(0)
	return w.out.result(), !w.out.over
}

// formWriter writes a form while its cursor walks over the object.
type formWriter struct {
	out  bounded
	c    *rawjson.Cursor
	name []byte // of the value that the cursor stands at, encoded
}

// members writes the object that the cursor stands at.
func (w *formWriter) members(depth int) {
	outer := len(w.name)
	for w.c.Enter(); !w.out.over && w.c.More(); w.name = w.name[:outer] {
		w.push(rawjson.Text(w.c.Name()), depth > 0)
		w.value(depth + 1)
	}
}

// push adds a step to the name. A name that is too long to be written is not
// made longer.
func (w *formWriter) push(step string, brackets bool) {
	if len(w.name) > w.out.most {
		return
	}
	// Its encoded form is not shorter.
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
			w.scalar() // also of structures, for which forms have no spelling
		}
	default:
		w.scalar()
	}
}

// scalar writes the value that the cursor stands at as a pair; null is left out.
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
	if len(text) > w.out.room() {
		w.out.over = true // its encoded form, which is not shorter, is not made
		return
	}
	add(&w.out, url.QueryEscape(text))
}

// scalarText gives a string's text, and any other value as it is written.
func scalarText(v rawjson.Value) string {
	if v.Kind() == '"' {
		return rawjson.Text(v)
	}
	return string(v)
}
