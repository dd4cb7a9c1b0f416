package reference

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// Program has a function for each call that it shows, named like the call's
// operationId. The body of the function is the sample.
type Program struct {
	Language string
	Text     string
}

var (
	// opening matches the first line of a function in Go, TypeScript, Python or shell.
	opening = regexp.MustCompile(`^(?:func |async function |def )?(\w+)\(.*\).*[{:]$`)
	// handingOver matches a last line that is of use to the program only.
	handingOver = regexp.MustCompile(`(?:\n|^)\s*return (?:nil|job;?)$`)
)

// samples returns the bodies of a program's functions by name.
func (p Program) samples() map[string]template.HTML {
	found := map[string]template.HTML{}
	name, body := "", []string(nil)
	end := func() {
		if text := strings.TrimRight(strings.Join(dedent(body), "\n"), "\n"); name != "" && text != "" {
			found[name] = template.HTML(html.EscapeString(handingOver.ReplaceAllString(text, ""))) //nolint:gosec // escaped
		}
		name, body = "", nil
	}
	for line := range strings.Lines(p.Text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"):
			body = append(body, line)
		default:
			end()
			if m := opening.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
		}
	}
	end()
	return found
}

// addSamples puts the samples of the programs behind the requests of their calls.
func (v *View) addSamples(programs []Program) {
	for _, p := range programs {
		found := p.samples()
		for _, g := range v.Groups {
			for _, op := range g.Operations {
				if code, ok := found[op.ID]; ok {
					op.Examples = append(op.Examples, Example{p.Language, code})
				}
			}
		}
	}
}

// dedent removes the indentation of the first line from all lines.
func dedent(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	indentation := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " \t"))]
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, indentation)
	}
	return lines
}
