package reference

import (
	"html"
	"html/template"
	"strings"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

// width is how long a line of an example may get before an object or array is
// spread over several lines.
const width = 58

// sample renders JSON for reading: short objects in one line, keys marked.
func sample(n *tree.Node) template.HTML {
	if n == nil {
		return ""
	}
	w := sampleWriter{}
	w.write(n, 0, 0)
	return template.HTML(w.out.String()) //nolint:gosec // escaped by the writer
}

// event renders a message. The job in the data of an event is left out, as it
// would bury what the event is about.
func event(n *tree.Node) template.HTML {
	w := sampleWriter{elided: n.Get("data", "job")}
	w.write(n, 0, 0)
	return template.HTML(w.out.String()) //nolint:gosec // escaped by the writer
}

// shellSample renders JSON that stands between single quotes of a shell.
func shellSample(n *tree.Node) string {
	w := sampleWriter{shell: true}
	w.write(n, 0, 0)
	return w.out.String()
}

type sampleWriter struct {
	out    strings.Builder
	shell  bool
	elided *tree.Node // shown as {…}
}

func (w *sampleWriter) text(s string) {
	if w.shell {
		s = strings.ReplaceAll(s, "'", `'\''`)
	}
	w.out.WriteString(html.EscapeString(s))
}

func (w *sampleWriter) key(key string) {
	w.out.WriteString("<b>")
	w.text(quote(key))
	w.out.WriteString("</b>: ")
}

// write puts a node at a depth; used says how much of the line is taken.
func (w *sampleWriter) write(n *tree.Node, depth, used int) {
	if n == w.elided || len(n.Members)+len(n.Items) == 0 || 2*depth+used+length(n) <= width {
		w.flat(n)
		return
	}
	end := "}"
	if n.Kind == tree.Object {
		w.out.WriteString("{\n")
		for i, m := range n.Members {
			w.indent(depth + 1)
			w.key(m.Key)
			w.write(m.Value, depth+1, len(m.Key)+4)
			w.comma(i < len(n.Members)-1)
		}
	} else {
		end = "]"
		w.out.WriteString("[\n")
		for i, item := range n.Items {
			w.indent(depth + 1)
			w.write(item, depth+1, 0)
			w.comma(i < len(n.Items)-1)
		}
	}
	w.indent(depth)
	w.out.WriteString(end)
}

func (w *sampleWriter) flat(n *tree.Node) {
	if n == w.elided {
		w.out.WriteString("{…}")
		return
	}
	switch n.Kind {
	case tree.Object:
		w.out.WriteByte('{')
		for i, m := range n.Members {
			if i > 0 {
				w.out.WriteString(", ")
			}
			w.key(m.Key)
			w.flat(m.Value)
		}
		w.out.WriteByte('}')
	case tree.Array:
		w.out.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				w.out.WriteString(", ")
			}
			w.flat(item)
		}
		w.out.WriteByte(']')
	default:
		w.text(string(n.Raw))
	}
}

func (w *sampleWriter) indent(depth int) { w.out.WriteString(strings.Repeat("  ", depth)) }

func (w *sampleWriter) comma(more bool) {
	if more {
		w.out.WriteByte(',')
	}
	w.out.WriteByte('\n')
}

// length is how much of a line a node takes when it is written flat.
func length(n *tree.Node) int {
	total := 0
	switch n.Kind {
	case tree.Object:
		for _, m := range n.Members {
			total += len(m.Key) + 6 + length(m.Value)
		}
	case tree.Array:
		for _, item := range n.Items {
			total += 2 + length(item)
		}
	default:
		return len(n.Raw)
	}
	return total
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
