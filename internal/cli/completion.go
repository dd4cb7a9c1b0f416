package cli

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/job"
)

// completeCommand is the first argument with which the scripts ask for candidates.
// The words of the command line follow; the last is the one to complete.
const completeCommand = "__complete"

//go:embed completion/punctual.*
var completionScripts embed.FS

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script for a shell.
func (c *completionCommand) Run(env *environment) error {
	text, err := completionScripts.ReadFile("completion/punctual." + c.Shell)
	if err != nil {
		return err
	}
	_, err = env.out.Write(text)
	return err
}

// candidate is a word that can stand at the end of a command line.
type candidate struct{ word, help string }

// complete prints the candidates for the last word: a line for each, with a tab
// and its description. Without any, the shell completes names of files.
func complete(root *kong.Node, words []string, out io.Writer) int {
	for _, c := range candidates(root, words) {
		help, _, _ := strings.Cut(c.help, ". ")
		_, _ = fmt.Fprintf(out, "%s\t%s\n", printable(c.word), printable(strings.TrimSuffix(help, ".")))
	}
	return statusDone
}

func candidates(root *kong.Node, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	current, before := words[len(words)-1], words[:len(words)-1]
	node, pending, onlyArguments := follow(root, before)
	var all []candidate
	name, value, joined := strings.Cut(current, "=")
	switch {
	case pending != nil:
		// bash splits --state=done at the equals sign.
		if n := len(before); current == "=" || n > 1 && before[n-1] == "=" {
			current = strings.TrimPrefix(current, "=")
		}
		all = valuesOf(pending)
	case joined && strings.HasPrefix(current, "--") && !onlyArguments:
		f := flagNamed(node, name)
		if f == nil {
			return nil
		}
		for _, c := range valuesOf(f) {
			all = append(all, candidate{name + "=" + c.word, c.help})
		}
		_ = value
	case strings.HasPrefix(current, "-") && !onlyArguments:
		all = flagsOf(node)
	default:
		all = argumentsOf(node)
	}
	return slices.DeleteFunc(all, func(c candidate) bool { return !strings.HasPrefix(c.word, current) })
}

// follow walks along the words of a command line. It returns the command that they
// name, the flag that waits for a value, if any, and whether -- was among them.
func follow(node *kong.Node, words []string) (at *kong.Node, pending *kong.Flag, onlyArguments bool) {
	for _, word := range words {
		switch {
		case pending != nil:
			if word != "=" {
				pending = nil
			}
		case onlyArguments:
		case word == "--":
			onlyArguments = true
		case strings.HasPrefix(word, "-"):
			if f := flagNamed(node, word); f != nil && !f.IsBool() {
				pending = f
			}
		default:
			if i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word }); i >= 0 {
				node = node.Children[i]
			}
		}
	}
	return node, pending, onlyArguments
}

// allFlags returns the visible flags of a command and of those around it.
func allFlags(node *kong.Node) []*kong.Flag { return slices.Concat(node.AllFlags(true)...) }

// flagNamed returns the flag that a word such as --state or -q names; nil if none.
func flagNamed(node *kong.Node, word string) *kong.Flag {
	for _, f := range allFlags(node) {
		if name, long := strings.CutPrefix(word, "--"); long && (name == f.Name || slices.Contains(f.Aliases, name)) || f.Short != 0 &&
			word == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

func flagsOf(node *kong.Node) (all []candidate) {
	for _, f := range allFlags(node) {
		all = append(all, candidate{"--" + f.Name, f.Help})
	}
	return all
}

// argumentsOf returns what can stand for an argument: commands, or the values of a
// positional argument that has few.
func argumentsOf(node *kong.Node) (all []candidate) {
	for _, child := range node.Children {
		if !child.Hidden {
			all = append(all, candidate{child.Name, child.Help})
		}
	}
	for _, p := range node.Positional {
		all = append(all, listed(p.Enum)...)
	}
	return all
}

// valuesOf returns the values of a flag that has few.
func valuesOf(f *kong.Flag) []candidate {
	switch f.Name {
	case "state":
		return listed(strings.Join(job.StateFilters(), ","))
	case "profile":
		stored, err := readProfiles()
		if err != nil {
			return nil
		}
		return listed(strings.Join(slices.Sorted(maps.Keys(stored.Profiles)), ","))
	case "on":
		return listed("failed,recovered,late,skipped,ended")
	case "on-conflict":
		return listed("return,refuse,replace,debounce")
	case "catch-up":
		return listed("one,none,all")
	case "scope":
		return listed("read,jobs,admin")
	case "method":
		return listed(strings.Join(apiMethods, ","))
	case "event":
		return listed(strings.Join(logEvents, ","))
	}
	return listed(f.Enum)
}

// listed returns the words of a list with commas.
func listed(list string) (all []candidate) {
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, candidate{word: word})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.word, b.word) })
	return all
}
