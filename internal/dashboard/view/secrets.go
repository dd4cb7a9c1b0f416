package view

import (
	"time"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// Secrets is the page of an account's secrets for headers.
type Secrets struct {
	Secrets  []HeaderSecret // by name
	CanStore bool           // the service has a key to encrypt with
	Notice   string
	Form     Refusal // what the form for a secret shows
}

// HeaderSecret is a secret without its value.
type HeaderSecret struct {
	Name      string
	Hosts     []string
	HTTP      bool
	Use       string // what it is for, if not for headers
	UpdatedAt time.Time
}

// SecretUse returns what a kind of secret is for; "" for headers.
func SecretUse(kind job.SecretKind) string {
	switch kind {
	case job.SecretCertificate:
		return "client certificate"
	case job.SecretAccessKey:
		return "access key of AWS"
	}
	return ""
}

// SecretKind is a kind of secret that the form can store.
type SecretKind struct {
	Name, Label string
	Fields      []string // the inputs that are members of the request
}

var secretKinds = []SecretKind{
	{"value", "A value", []string{"value"}},
	{"oauth2", "OAuth2 client credentials", nil},
	{"certificate", "A client certificate", []string{"certificate", "private_key"}},
	{"access_key", "An access key of AWS", []string{"access_key_id", "secret_access_key", "session_token"}},
}

// SecretKindNamed returns the kind that a form was filled in for: the first one unless
// name is another's.
func SecretKindNamed(name string) SecretKind {
	for _, k := range secretKinds {
		if k.Name == name {
			return k
		}
	}
	return secretKinds[0]
}

// overHTTP says that targets of http may receive a secret.
func overHTTP(h HeaderSecret) string {
	if h.HTTP {
		return " http too"
	}
	return ""
}

// CredentialFields are the form's inputs for OAuth2 client credentials.
var CredentialFields = []string{"token_url", "client_id", "client_secret", "scope"}

// kind returns the name of the kind that the form is for.
func (d *Secrets) kind() string { return SecretKindNamed(d.Form.entered("secret", "kind")).Name }

// input returns an input of the form. Secret texts are not put into it again.
func (d *Secrets) input(name, label, pointer, hint string) ui.Input {
	i := ui.Input{Name: name, Label: label, Hint: hint, Error: d.Form.at("secret", pointer), Mono: true}
	switch name {
	case "value", "client_secret", "secret_access_key", "session_token":
		i.Type, i.Autocomplete = "password", "new-password"
		return i
	case "private_key":
		return i
	}
	i.Value = d.Form.entered("secret", name)
	return i
}

// credential returns an input for OAuth2 client credentials.
func (d *Secrets) credential(name, label, hint string) ui.Input {
	return d.input(name, label, "#/oauth2/"+name, hint)
}

// hostProblem returns what is wrong with the hosts.
func (d *Secrets) hostProblem() string { return d.Form.at("secret", "#/hosts") }

// settingsTabs are the pages of an account's settings.
func settingsTabs(current string) []ui.Tab {
	tabs := []ui.Tab{{Label: "Account", Href: "/settings"}, {Label: "People", Href: "/settings/members"},
		{Label: "Usage", Href: "/settings/usage"}, {Label: "Secrets", Href: "/secrets"}, {Label: "Limits", Href: "/limits"},
		{Label: "Groups", Href: "/groups"},
		{Label: "Alerts", Href: "/alerts"}, {Label: "Audit log", Href: "/settings/audit"}}
	for i := range tabs {
		tabs[i].Current = tabs[i].Href == current
	}
	return tabs
}

var maxHostsText = templ.Attributes{"maxlength": "6000"}
