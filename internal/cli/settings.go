package cli

import (
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// variablePrefix begins the name of every environment variable that is read.
const variablePrefix = "PUNCTUAL_"

// settings gives flags that were not on the command line their values from the
// environment. A flag is a setting when its tag says so; those of a single call
// (--json, --name) are none.
type settings struct {
	// used tells which variable a flag's value came from.
	used map[string]string
}

func isSetting(v *kong.Value) bool { return v.Tag != nil && v.Tag.Has("setting") }

// variable names the environment variable of a flag.
func variable(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Validate implements kong.Resolver.
func (*settings) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver. An empty variable counts as not set: that
// is how most deployment tools write "not given".
func (s *settings) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !isSetting(flag.Value) {
		return nil, nil
	}
	for _, name := range variables(flag) {
		if text := os.Getenv(name); text != "" {
			s.used[flag.Name] = name
			return text, nil
		}
	}
	return nil, nil
}

// variables returns the names of a flag's environment variable: its own, and
// those of the flag's older names.
func variables(flag *kong.Flag) []string {
	names := []string{variable(flag.Name)}
	for _, alias := range flag.Aliases {
		names = append(names, variable(alias))
	}
	return names
}

// describe completes a flag's help with its default and its variable.
func describe(v *kong.Value) string {
	help := v.Help
	if v.HasDefault {
		help += " Default: " + v.Default + "."
	}
	if isSetting(v) {
		help += " [$" + variable(v.Name) + "]"
	}
	return help
}
