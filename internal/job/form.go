package job

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// maxFormParts is how many lists, members and elements a form may have in all.
// Two bytes of a form can create one, which takes much more memory.
const maxFormParts = 50_000

// formNode is a parsed part of a form: a text, a list or members.
type formNode struct {
	text    string
	list    []*formNode
	names   []string
	members map[string]*formNode
}

// ReadForm converts application/x-www-form-urlencoded with bracket notation to
// JSON: a[b]=c is a member of an object, a[]=c (or a[0]=c, a[1]=d) an element of
// a list, in the order given. Values are strings, except in the fields of a create
// request that have numbers or booleans. For a form that is well-formed but
// exceeds a limit, the error is a fault or a *rawjson.DepthError.
func ReadForm(text string) (rawjson.Value, error) {
	root := &formNode{members: map[string]*formNode{}}
	parts := 0
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err1 := url.QueryUnescape(rawName)
		value, err2 := url.QueryUnescape(rawValue)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("a %% in it is not followed by two hexadecimal digits: %.60q", pair)
		}
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("it is not valid UTF-8: %.60q", pair)
		}
		steps, err := formSteps(name)
		if err != nil {
			return nil, err
		}
		if parts += len(steps); parts > maxFormParts {
			return nil, fault.Refuse([]fault.Problem{{Pointer: "#",
				Detail: fmt.Sprintf("must have at most %d parts, counting each name and each pair of brackets", maxFormParts)}})
		}
		if err := root.put(steps, value); err != nil {
			return nil, fmt.Errorf("%.60q %w", name, err)
		}
	}
	if len(root.names) == 0 {
		return nil, rawjson.ErrEmpty
	}
	return root.appendValue(nil, ""), nil
}

// formSteps splits a[b][] into a, b and "", where "" means a list's next element.
func formSteps(name string) ([]string, error) {
	first, rest, nested := strings.Cut(name, "[")
	if first == "" {
		return nil, fmt.Errorf("the name %.60q is empty", name)
	}
	if strings.Count(rest, "[")+1 >= rawjson.MaxDepth {
		return nil, &rawjson.DepthError{Field: first, Named: true}
	}
	steps := []string{first}
	for nested {
		step, after, closed := strings.Cut(rest, "]")
		if !closed || after != "" && after[0] != '[' {
			return nil, fmt.Errorf("the brackets of %.60q are not balanced", name)
		}
		steps = append(steps, step)
		if nested = after != ""; nested {
			rest = after[1:]
		}
	}
	return steps, nil
}

var errFormConflict = errors.New("is given twice, or in two shapes")

func (n *formNode) put(steps []string, value string) error {
	step, rest := steps[0], steps[1:]
	var child *formNode
	switch {
	case step == "" && n.members == nil:
		child = &formNode{}
		n.list = append(n.list, child)
	case step == "" || n.list != nil:
		return errFormConflict
	default:
		if n.members == nil {
			n.members = map[string]*formNode{}
		}
		known := n.members[step]
		if known != nil && (len(rest) == 0 || known.list == nil && known.members == nil) {
			return errFormConflict
		}
		if child = known; child == nil {
			child = &formNode{}
			n.members[step] = child
			n.names = append(n.names, step)
		}
	}
	if len(rest) == 0 {
		child.text = value
		return nil
	}
	return child.put(rest, value)
}

// appendValue appends the JSON of a node; field is the top-level field it belongs to.
func (n *formNode) appendValue(b []byte, field string) rawjson.Value {
	switch {
	case n.list != nil || n.isIndexed():
		b = append(b, '[')
		for _, e := range n.list {
			b = append(e.appendValue(b, field), ',')
		}
		for _, name := range n.names {
			b = append(n.members[name].appendValue(b, field), ',')
		}
		return closed(b, ']')
	case n.members != nil:
		b = append(b, '{')
		for _, name := range n.names {
			top := field
			if top == "" {
				top = name
			}
			b = append(rawjson.AppendText(b, name), ':')
			b = append(n.members[name].appendValue(b, top), ',')
		}
		return closed(b, '}')
	default:
		return append(b, formScalar(field, n.text)...)
	}
}

// closed ends a list or object by replacing the last comma with end.
func closed(b []byte, end byte) []byte {
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, end)
}

// isIndexed reports whether the names are 0, 1, 2 and so on.
func (n *formNode) isIndexed() bool {
	for i, name := range n.names {
		if name != strconv.Itoa(i) {
			return false
		}
	}
	return len(n.names) > 0
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

func formScalar(field, text string) rawjson.Value {
	f := byName[field]
	switch {
	case f == nil:
	case f.numeric() && jsonNumber.MatchString(text),
		f.Kind == BooleanValue && (text == "true" || text == "false"):
		return rawjson.Value(text)
	}
	return rawjson.Quote(text)
}
