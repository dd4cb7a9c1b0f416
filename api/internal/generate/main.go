// Command generate writes an OpenAPI document as JSON. It is run by go generate
// and takes two paths: the YAML to read and the JSON to write.
package main

import (
	"fmt"
	"os"

	"github.com/punctual-dev/punctual/internal/yamljson"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate FROM.yaml TO.json")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(from, to string) error {
	doc, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	out, err := yamljson.Convert(doc)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, out, 0o644)
}
