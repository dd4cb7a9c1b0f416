package apitest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

// maxReasons is how many reasons a refusal lists; alternatives can give dozens.
const maxReasons = 8

// validate holds a value against the schema at a node.
func (v *Validator) validate(schema *tree.Node, value any) error {
	s := v.schemas[schema.Pointer]
	if s == nil {
		return fmt.Errorf("there is no schema at %s", schema.Pointer)
	}
	err := s.Validate(value)
	var refusal *jsonschema.ValidationError
	if !errors.As(err, &refusal) {
		return err
	}
	reasons := leaves(refusal, nil)
	if more := len(reasons) - maxReasons; more > 0 {
		reasons = append(reasons[:maxReasons], fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(reasons, "; "))
}

var printer = message.NewPrinter(language.English)

// leaves returns the innermost reasons, which are the ones to act on.
func leaves(e *jsonschema.ValidationError, reasons []string) []string {
	if len(e.Causes) == 0 {
		place := "/" + strings.Join(e.InstanceLocation, "/")
		return append(reasons, place+": "+shorten(e.ErrorKind.LocalizedString(printer)))
	}
	for _, cause := range e.Causes {
		reasons = leaves(cause, reasons)
	}
	return reasons
}

// shorten keeps messages readable when a body is large.
func shorten(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
