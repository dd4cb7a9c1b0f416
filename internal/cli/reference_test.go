package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"mvdan.cc/sh/v3/shell"
	"mvdan.cc/sh/v3/syntax"
)

// reference is the page with all commands. It is generated: go test ./internal/cli
// -run TestReference -update.
const reference = "../../docs/guides/commands.md"

func model(t *testing.T) *kong.Node {
	t.Helper()
	grammar := newGrammar()
	parser, _ := newParser(grammar, io.Discard, io.Discard)
	return parser.Model.Node
}

func TestReference_IsThatOfTheProgram(t *testing.T) {
	t.Parallel()
	got := referencePage(model(t))
	if *update {
		if err := os.WriteFile(reference, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("docs/guides/commands.md is not current; run go test ./internal/cli -run TestReference -update\n%s",
			difference(string(want), got))
	}
}

// referencePage writes all commands as Markdown.
func referencePage(root *kong.Node) string {
	var b strings.Builder
	b.WriteString("# All commands\n\nThis page is generated from the program. [The command line](command-line.md) explains how to use it.\n\n")
	service := flagNames(&struct{ serviceFlags }{})
	b.WriteString("Commands that call a service also take:\n")
	list := root.Leaves(true)
	for _, command := range list {
		if command.Path() == "jobs list" {
			writeFlagTable(&b, command, func(f *kong.Flag) bool { return service[f.Name] })
		}
	}
	for _, command := range list {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```\n%s\n```\n", command.Path(), command.Help, examples[command.Path()])
		if len(command.Positional) > 0 {
			b.WriteString("\n| argument | |\n|---|---|\n")
			for _, p := range command.Positional {
				fmt.Fprintf(&b, "| `%s` | %s |\n", p.Summary(), cell(describe(p)))
			}
		}
		calls := flagNamed(command, "--api-key") != nil
		writeFlagTable(&b, command, func(f *kong.Flag) bool {
			return f.Name != "help" && !(calls && service[f.Name])
		})
	}
	return b.String()
}

func writeFlagTable(b *strings.Builder, command *kong.Node, keep func(*kong.Flag) bool) {
	head := "\n| flag | |\n|---|---|\n"
	for _, f := range allFlags(command) {
		if !keep(f) {
			continue
		}
		name := "--" + f.Name
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		if !f.IsBool() {
			name += "=" + f.FormatPlaceHolder()
		}
		fmt.Fprintf(b, "%s| `%s` | %s |\n", head, strings.ReplaceAll(name, "|", `\|`), cell(describe(f.Value)))
		head = ""
	}
}

// cell returns text for a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "<", `\<`)
}

// flagNames returns the names of the flags of a grammar, help apart.
func flagNames(grammar any) map[string]bool {
	names := map[string]bool{}
	for _, f := range kong.Must(grammar, kong.NoDefaultHelp(), kong.NamedMapper("switch", switchMapper{})).Model.Flags {
		names[f.Name] = true
	}
	return names
}

func TestExamples_AreRightCommandLines(t *testing.T) {
	t.Parallel()
	grammar := newGrammar()
	parser, _ := newParser(grammar, io.Discard, io.Discard) // to make one costs 0.1 s with the race detector
	root := parser.Model.Node
	known := map[string]bool{}
	for _, command := range root.Leaves(true) {
		path := command.Path()
		known[path] = true
		text, ok := examples[path]
		if !ok {
			t.Errorf("%s has no example", path)
		}
		for line := range strings.Lines(text) {
			checkExample(t, parser, path, strings.TrimSuffix(line, "\n"))
		}
	}
	for path := range examples {
		if !known[path] {
			t.Errorf("there is an example for %q, which is no command", path)
		}
	}
}

// checkExample parses the calls of punctual in a line of shell.
func checkExample(t *testing.T, parser *kong.Kong, path, line string) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		t.Errorf("%s: %q: %v", path, line, err)
		return
	}
	found := false
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "punctual" {
			return true
		}
		var source bytes.Buffer
		if err := syntax.NewPrinter().Print(&source, call); err != nil {
			t.Error(err)
		}
		words, err := shell.Fields(source.String(), nil)
		if err != nil {
			t.Errorf("%s: %q: %v", path, line, err)
			return false
		}
		parsed, err := parser.Parse(words[1:])
		if err != nil {
			t.Errorf("%s: %q: %v", path, line, err)
			return false
		}
		found = found || parsed.Selected().Path() == path
		return false
	})
	if !found {
		t.Errorf("%s: %q does not call it", path, line)
	}
}

func TestGrammarFor_SelectsEachCommand(t *testing.T) {
	parser, _ := newParser(newGrammar(), io.Discard, io.Discard)
	for _, command := range parser.Model.Node.Children {
		if _, all := grammarFor([]string{command.Name}).(*commands); all {
			t.Errorf("%s is parsed with the grammar of all commands", command.Name)
		}
	}
}
