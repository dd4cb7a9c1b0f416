package reference

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// prose renders the little Markdown that descriptions use: paragraphs, lists,
// `code` and [links](https://example.com/). Everything else is text.
func prose(text string) template.HTML {
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if block = strings.TrimSpace(block); block == "" {
			continue
		}
		if !strings.HasPrefix(block, "- ") {
			out.WriteString("<p>" + inline(block) + "</p>")
			continue
		}
		out.WriteString("<ul>")
		for item := range strings.SplitSeq("\n"+block, "\n- ") {
			if item != "" {
				out.WriteString("<li>" + inline(item) + "</li>")
			}
		}
		out.WriteString("</ul>")
	}
	return template.HTML(out.String()) //nolint:gosec // escaped by inline
}

// line renders text that stands in a line of its own, such as a summary.
func line(text string) template.HTML {
	return template.HTML(inline(strings.TrimSpace(text))) //nolint:gosec // escaped by inline
}

var link = regexp.MustCompile(`\[([^\[\]]+)\]\(((?:https://|#)[^()\s]+)\)`)

// inline splits at backquotes first, so that nothing in code is a link.
func inline(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	parts := strings.Split(text, "`")
	if len(parts)%2 == 0 { // an odd backquote is text
		last := len(parts) - 1
		parts = append(parts[:last-1], parts[last-1]+"`"+parts[last])
	}
	var out strings.Builder
	for i, part := range parts {
		part = html.EscapeString(part)
		if i%2 == 1 {
			out.WriteString("<code>" + part + "</code>")
			continue
		}
		out.WriteString(link.ReplaceAllString(part, `<a href="$2">$1</a>`))
	}
	return out.String()
}
