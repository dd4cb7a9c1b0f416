package view

import (
	"errors"
	"net/url"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/fault"
)

// SignIn is a page to sign up, to sign in, or to enter the code of a second
// factor.
type SignIn struct {
	// First is set while there is no account: who signs up needs a setup code
	// and becomes the operator.
	First  bool
	Closed bool // nobody can sign up
	// Provider is the address that begins a sign-in at the provider; "" without one.
	Provider    string
	NoPasswords bool // nobody signs up or in by a password
	Mails       bool // people get links by e-mail
	ByInvite    bool // who signs up needs an invite
	Email       string
	Invite      string
	Setup       string
	To          string // where to go once signed in
	Notice      string // shown above the form
	Err         error  // why the form was refused
}

// problem returns the fault to show above the form; nil for none.
func (e *SignIn) problem() *fault.Error {
	var f *fault.Error
	errors.As(e.Err, &f)
	return f
}

// needsCode reports whether the form begins with an empty field for a code.
func (e *SignIn) needsCode() bool {
	return e.First && e.Setup == "" || !e.First && e.ByInvite && e.Invite == ""
}

func (e *SignIn) emailHint() string {
	if e.Mails {
		return "Your user name. A link is sent there to confirm it."
	}
	return "Your user name. The service sends no email."
}

func (e *SignIn) signInHref() string {
	if e.To == "" || e.To == "/" {
		return "/sign-in"
	}
	return "/sign-in?to=" + url.QueryEscape(e.To)
}

// codeAttributes are the attributes of an input for a code.
func codeAttributes(focus bool) templ.Attributes {
	attributes := templ.Attributes{"maxlength": "40", "autocapitalize": "off", "spellcheck": "false"}
	if focus {
		attributes["autofocus"] = true
	}
	return attributes
}

func focusWhen(yes bool) templ.Attributes {
	if yes {
		return templ.Attributes{"autofocus": true}
	}
	return nil
}
