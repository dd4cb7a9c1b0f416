package job

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// maxFormDepth bounds how deep brackets may nest.
const maxFormDepth = 64

// formNode is a part of a form on its way to JSON: a text, a list or members.
type formNode struct {
	text    string
	list    []*formNode
	names   []string
	members map[string]*formNode
}

// ReadForm reads application/x-www-form-urlencoded with bracket notation as
// the JSON it stands for: a[b]=c is a member of an object, a[]=c (or a[0]=c,
// a[1]=d) an element of a list, in the order given. Values are strings, but
// for the fields of a create request that are numbers or booleans.
func ReadForm(text string) (rawjson.Value, error) {
	root := &formNode{members: map[string]*formNode{}}
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
		if err := root.put(steps, value); err != nil {
			return nil, fmt.Errorf("%.60q %w", name, err)
		}
	}
	if len(root.names) == 0 {
		return nil, rawjson.ErrEmpty
	}
	return root.value(""), nil
}

// formSteps takes a[b][] apart into a, b and "", the last standing for a list's
// next element.
func formSteps(name string) ([]string, error) {
	first, rest, nested := strings.Cut(name, "[")
	if first == "" {
		return nil, fmt.Errorf("the name %.60q is empty", name)
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
	if len(steps) > maxFormDepth {
		return nil, fmt.Errorf("the brackets of %.60q nest deeper than %d", name, maxFormDepth)
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

// value gives the JSON of a node; field is the top-level field it stands in.
func (n *formNode) value(field string) rawjson.Value {
	switch {
	case n.list != nil || n.isIndexed():
		elements := make([]rawjson.Value, 0, len(n.list)+len(n.names))
		for _, e := range n.list {
			elements = append(elements, e.value(field))
		}
		for _, name := range n.names {
			elements = append(elements, n.members[name].value(field))
		}
		return rawjson.Array(elements)
	case n.members != nil:
		members := make([]rawjson.Member, 0, len(n.names))
		for _, name := range n.names {
			top := field
			if top == "" {
				top = name
			}
			members = append(members, rawjson.Member{Name: name, Value: n.members[name].value(top)})
		}
		return rawjson.Object(members)
	default:
		return formScalar(field, n.text)
	}
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

var numberFields = []string{"schedule_in", "scheduled_at", "repeat_every", "retries", "timeout"}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

func formScalar(field, text string) rawjson.Value {
	switch {
	case slices.Contains(numberFields, field) && jsonNumber.MatchString(text):
		return rawjson.Value(text)
	case field == "metadata" && (text == "true" || text == "false"):
		return rawjson.Value(text)
	default:
		return rawjson.Quote(text)
	}
}
