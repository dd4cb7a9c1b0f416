package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// shellBlock matches a block of code that may have commands.
var shellBlock = regexp.MustCompile("(?ms)^```(|sh|text)\n(.*?)^```$")

// TestGuides_HaveRightCommandLines parses each call of punctual in a block of the README
// and the guides by the grammar of the program.
func TestGuides_HaveRightCommandLines(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	parser, _ := newParser(newGrammar(), io.Discard, io.Discard)
	found := 0
	for _, page := range slices.Concat(pages, more, []string{"../../README.md"}) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
			for _, call := range callsOf(block[2]) {
				found++
				checkCall(t, parser, filepath.Base(page), call)
			}
		}
	}
	if found < 150 {
		t.Errorf("%d calls were found, want 150 at least", found)
	}
}

// callsOf returns the calls of punctual in a block: the words of each. A block that is not
// shell as a whole, because it shows output too, is read by its lines.
func callsOf(block string) (calls []*syntax.CallExpr) {
	file, err := syntax.NewParser().Parse(strings.NewReader(block), "")
	if err != nil {
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
			if line = strings.TrimPrefix(line, "$ "); strings.HasPrefix(line, "punctual ") && line != block {
				calls = append(calls, callsOf(line)...)
			}
		}
		return calls
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok {
			words := call.Args
			if len(words) > 0 && (words[0].Lit() == "sudo" || words[0].Lit() == "docker" || words[0].Lit() == "$") {
				words = words[1:]
				for len(words) > 2 && slices.ContainsFunc(words[1:], isPunctual) {
					words = words[1:]
				}
			}
			if len(words) > 1 && isPunctual(words[0]) && words[1].Lit() != "-" {
				calls = append(calls, &syntax.CallExpr{Args: words})
			}
		}
		return true
	})
	return calls
}

func isPunctual(word *syntax.Word) bool { return word.Lit() == "punctual" }

// checkCall parses a call. Variables and commands in it stand for texts.
func checkCall(t *testing.T, parser *kong.Kong, page string, call *syntax.CallExpr) {
	t.Helper()
	words, err := expand.Fields(&expand.Config{
		Env:      expand.ListEnviron("PUNCTUAL_URL=https://example.com", "TARGET_URL=https://example.com"),
		CmdSubst: func(w io.Writer, _ *syntax.CmdSubst) error { _, err := io.WriteString(w, "text"); return err },
	}, call.Args...)
	if err != nil {
		t.Errorf("%s: a call can't be expanded: %v", page, err)
		return
	}
	if _, err := parser.Parse(words[1:]); err != nil {
		t.Errorf("%s: %q: %v", page, words, err)
	}
}
