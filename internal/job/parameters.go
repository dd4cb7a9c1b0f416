package job

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/fault"
)

// Parameters reads the parameters of an address and collects their problems. A
// parameter must be given once, unless its method says otherwise.
type Parameters struct {
	Values   url.Values
	Problems []fault.Problem
}

// Refuse adds a problem; detail completes a sentence that begins with the
// parameter's name.
func (p *Parameters) Refuse(parameter, detail string) {
	p.Problems = append(p.Problems, fault.Problem{Parameter: parameter, Detail: detail})
}

// One returns a parameter's value, and whether it was given exactly once.
func (p *Parameters) One(name string) (string, bool) {
	values, ok := p.Values[name]
	if len(values) > 1 {
		p.Refuse(name, "must be given once")
		return "", false
	}
	if !ok {
		return "", false
	}
	return values[0], true
}

// Text reads a text of 1 to 255 characters; nil if there is none.
func (p *Parameters) Text(name string) *string {
	text, ok := p.One(name)
	if !ok {
		return nil
	}
	if n := utf8.RuneCountInString(text); n < 1 || n > 255 || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		p.Refuse(name, textRule)
		return nil
	}
	return &text
}
