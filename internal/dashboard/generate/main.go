package main

import (
	"fmt"
	"go/format"
	"os"
	"regexp"
)

// component matches the first line of a component.
var component = regexp.MustCompile(`(?m)^func .* templ\.Component \{$`)

func main() {
	for _, name := range os.Args[1:] {
		if err := rewrite(name); err != nil {
			fmt.Fprintln(os.Stderr, "generate:", err)
			os.Exit(1)
		}
	}
}

// rewrite marks the components of a file as not to be inlined.
func rewrite(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("reading a generated file: %w", err)
	}
	marked, err := format.Source(component.ReplaceAll(text, []byte("//go:noinline\n$0")))
	if err != nil {
		return fmt.Errorf("formatting %s: %w", name, err)
	}
	if err := os.WriteFile(name, marked, 0o644); err != nil { //nolint:gosec // the mode of the file that is replaced
		return fmt.Errorf("writing a generated file: %w", err)
	}
	return nil
}
