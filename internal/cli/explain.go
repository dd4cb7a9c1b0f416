package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// explain turns kong's error about a command line into a sentence with a hint.
// used maps flags to the environment variables that set them.
func explain(err error, used map[string]string) string {
	command := &kong.Node{Name: "punctual"}
	words := "punctual"
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		command = parse.Context.Model.Node
		if selected := parse.Context.Selected(); selected != nil {
			command, words = selected, "punctual "+selected.Path()
		}
	}
	text := sentenceFor(err.Error(), words, command, used)
	return fmt.Sprintf("%s\nRun %s --help to see what it takes.", text, words)
}

var (
	wrongValue   = regexp.MustCompile(`^--([a-z-]+)(?:=\S*)?: (.*)$`)
	missingValue = regexp.MustCompile(`^expected .* value but got .*$|^missing value.*$`)
	missingWords = regexp.MustCompile(`^expected (one of )?"`)
	missingArg   = regexp.MustCompile(`"<(\S+)>`)
	missingFlags = regexp.MustCompile(`^missing flags: (.*)$`)
	unknownFlag  = regexp.MustCompile(`^unknown flag (-\S+?)(, did you mean .*)?$`)
	unexpected   = regexp.MustCompile(`^unexpected argument (.+?)(, did you mean .*)?$`)
)

func sentenceFor(text, words string, command *kong.Node, used map[string]string) string {
	if m := wrongValue.FindStringSubmatch(text); m != nil {
		problem := m[2]
		if missingValue.MatchString(problem) {
			problem = "needs a value"
		}
		if name, ok := used[m[1]]; ok {
			problem += "; it comes from the environment variable " + name
		}
		return "--" + m[1] + " " + problem
	}
	if m := missingFlags.FindStringSubmatch(text); m != nil {
		return missingFlagsSentence(m[1])
	}
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		return words + " has no flag " + m[1] + suggestion(m[2])
	}
	if m := unexpected.FindStringSubmatch(text); m != nil {
		if len(command.Children) > 0 && m[2] != "" {
			return fmt.Sprintf("%s has no command %q%s", words, m[1], suggestion(m[2]))
		}
		if len(command.Children) > 0 {
			return fmt.Sprintf("%s has no command %q; give one of %s", words, m[1], names(command))
		}
		return fmt.Sprintf("%q is one argument too many", m[1])
	}
	if missingWords.MatchString(text) {
		if m := missingArg.FindStringSubmatch(text); m != nil && len(command.Children) == 0 {
			return strings.ToUpper(m[1]) + " is missing"
		}
		return "a command is missing; give one of " + names(command)
	}
	return text
}

var flagValue = regexp.MustCompile(`=[A-Z]+`)

// missingFlagsSentence names the missing required flags of kong's list.
func missingFlagsSentence(list string) string {
	flags := flagValue.ReplaceAllString(list, "")
	if i := strings.LastIndex(flags, ", "); i >= 0 {
		return flags[:i] + " and " + flags[i+2:] + " are missing"
	}
	return flags + " is missing"
}

// suggestion turns kong's guess, which begins with a comma, into a clause; "" if
// there is none.
func suggestion(guess string) string { return strings.Replace(guess, ", ", "; ", 1) }

// names lists the subcommands of a command.
func names(command *kong.Node) string {
	var all []string
	for _, child := range command.Children {
		all = append(all, child.Name)
	}
	return strings.Join(all, ", ")
}
