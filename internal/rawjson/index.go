package rawjson

import "strconv"

// Index finds parts of a value by their paths. Any number of lookups together
// take time linear in the value and in the paths, however deep the value nests.
// It is not safe for concurrent use.
type Index struct {
	v     Value
	spans []span          // the arrays and objects, in the order they begin
	parts map[int32]parts // those that were taken apart, by their place in spans
}

// span is where an array or object lies. Next is the place, in spans, of the
// first one that begins behind its end.
type span struct{ begin, end, next int32 }

// parts are the members of an object or the elements of an array.
type parts struct {
	members  map[string]indexed
	elements []indexed
}

// indexed is a value and its place in spans; -1 for a scalar.
type indexed struct {
	value Value
	place int32
}

// NewIndex returns an index of v, which must be shorter than 2 GiB.
func NewIndex(v Value) *Index { return &Index{v: v} }

// Find follows a path of member names and array indexes; nil when nothing is there.
func (x *Index) Find(path []string) Value {
	if len(path) == 0 {
		return x.v
	}
	if x.parts == nil {
		x.spans, x.parts = spansOf(x.v), map[int32]parts{}
	}
	at := indexed{x.v, -1}
	if kind := x.v.Kind(); kind == '{' || kind == '[' {
		at.place = 0
	}
	for _, step := range path {
		if at.place < 0 {
			return nil
		}
		var found bool
		if at, found = x.partsOf(at.place).step(step); !found {
			return nil
		}
	}
	return at.value
}

func (p parts) step(name string) (indexed, bool) {
	if p.members != nil {
		found, ok := p.members[name]
		return found, ok
	}
	i, err := strconv.Atoi(name)
	if err != nil || strconv.Itoa(i) != name || i < 0 || i >= len(p.elements) {
		return indexed{}, false
	}
	return p.elements[i], true
}

// partsOf takes an array or object apart, the first time it is asked for. What
// nests in it is stepped over.
func (x *Index) partsOf(place int32) parts {
	if known, ok := x.parts[place]; ok {
		return known
	}
	var p parts
	c := &Cursor{v: x.v, at: int(x.spans[place].begin)}
	isObject := x.v[c.at] == '{'
	if isObject {
		p.members = map[string]indexed{}
	}
	nested := place + 1
	c.Enter()
	for c.More() {
		name := ""
		if isObject {
			name = Text(c.Name())
		}
		part := indexed{place: -1}
		if int(nested) < len(x.spans) && int(x.spans[nested].begin) == c.at {
			s := x.spans[nested]
			part = indexed{x.v[s.begin:s.end:s.end], nested}
			c.at, nested = int(s.end), s.next
		} else {
			part.value = c.Value()
		}
		if isObject {
			p.members[name] = part
		} else {
			p.elements = append(p.elements, part)
		}
	}
	x.parts[place] = p
	return p
}

// spansOf finds every array and object of v in one pass.
func spansOf(v Value) []span {
	var spans []span
	var open []int32
	for at := 0; at < len(v); at++ {
		switch v[at] {
		case '"':
			at = textEnd(v, at) - 1
		case '{', '[':
			open = append(open, int32(len(spans)))
			spans = append(spans, span{begin: int32(at), end: int32(len(v))})
		case '}', ']':
			if len(open) == 0 {
				return spans
			}
			s := &spans[open[len(open)-1]]
			s.end, s.next = int32(at+1), int32(len(spans))
			open = open[:len(open)-1]
		}
	}
	return spans
}
