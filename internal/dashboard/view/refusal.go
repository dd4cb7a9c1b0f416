package view

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/fault"
)

// Refusal is a form that was refused, and why. The zero value is no refusal.
type Refusal struct {
	Form   string     // which of the page's forms
	Values url.Values // what was entered
	Err    error
}

// at returns the problem with a field of a form; "" if another form was refused.
func (r *Refusal) at(form, pointer string) string {
	if r.Form != form {
		return ""
	}
	return ProblemAt(r.Err, pointer)
}

// summary returns what is wrong with a form as a whole.
func (r *Refusal) summary(form string) string {
	f, ok := r.Err.(*fault.Error)
	if !ok || r.Form != form {
		return ""
	}
	if len(f.Problems) > 0 && f.Problems[0].Pointer != "#" {
		return "Nothing was changed. Correct the marked fields."
	}
	return ui.Sentence(f.Message)
}

// maxRefilled is how long a value may be to be put into the form again.
const maxRefilled = 2000

// entered returns what a refused form had in a field.
func (r *Refusal) entered(form, name string) string {
	if text := r.Values.Get(name); r.Form == form && len(text) <= maxRefilled {
		return text
	}
	return ""
}

// ProblemAt returns the problem at a JSON pointer, or below it; "" if there is
// none.
func ProblemAt(err error, pointer string) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return ""
	}
	for _, p := range f.Problems {
		if p.Pointer == pointer {
			return p.Detail
		}
	}
	for _, p := range f.Problems {
		if len(p.Pointer) > len(pointer) && p.Pointer[:len(pointer)+1] == pointer+"/" {
			return below(p.Pointer[len(pointer)+1:]) + " " + p.Detail
		}
	}
	return ""
}

// below names a part of a value by its JSON pointer. Elements of lists count from 1, as
// people who type lists do.
func below(pointer string) string {
	first, rest, deeper := strings.Cut(pointer, "/")
	n, err := strconv.Atoi(first)
	switch {
	case err != nil:
		return "at " + pointer
	case deeper:
		return "entry " + strconv.Itoa(n+1) + " at " + rest
	}
	return "entry " + strconv.Itoa(n+1)
}
