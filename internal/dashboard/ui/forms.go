package ui

import (
	"context"
	"strings"
)

// Input is what a field of a form shows.
type Input struct {
	Name, Label string
	Hint        string
	Value       string
	Error       string // completes "LABEL …"; "" when the value is valid
	Required    bool
	// Type is the type attribute of the input element; "" is text.
	Type         string
	Placeholder  string
	Autocomplete string
	Mono         bool // for URLs, ids and JSON
	Rows         int  // above 0: a textarea of this many rows
}

// ID returns the id of the input element.
func (i Input) ID() string { return "f-" + strings.ReplaceAll(i.Name, "_", "-") }

// Choice is an option of a Select.
type Choice struct{ Value, Label string }

// describedBy returns the value of aria-describedby: the ids of the hint and the
// error, as far as they are shown.
func describedBy(id, hint, problem string) string {
	var names []string
	if hint != "" {
		names = append(names, id+"-hint")
	}
	if problem != "" {
		names = append(names, id+"-error")
	}
	return strings.Join(names, " ")
}

func invalid(problem string) string {
	if problem != "" {
		return "true"
	}
	return "false"
}

func inputType(t string) string {
	if t == "" {
		return "text"
	}
	return t
}

func mono(yes bool) string { return classIf(yes, "mono") }

func autocomplete(given string) string {
	if given == "" {
		return "off"
	}
	return given
}

// classIf returns a class name, or "" when it does not apply.
func classIf(yes bool, class string) string {
	if yes {
		return class
	}
	return ""
}

// offers reports whether a page shows the button of an action. Whoever may only look at
// an account has no use for those that change its records. The service decides.
func offers(ctx context.Context, action string) bool {
	v := From(ctx).Viewer
	return v == nil || v.Role != "viewer" || strings.HasPrefix(action, "/settings/")
}
