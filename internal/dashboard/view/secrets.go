package view

import (
	"time"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
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
	UpdatedAt time.Time
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

// exchanges reports whether the form is for OAuth2 client credentials.
func (d *Secrets) exchanges() bool { return d.Form.entered("secret", "kind") == "oauth2" }

// input returns an input of the form. Secret texts are not put into it again.
func (d *Secrets) input(name, label, pointer, hint string) ui.Input {
	i := ui.Input{Name: name, Label: label, Hint: hint, Error: d.Form.at("secret", pointer), Mono: true}
	if name == "value" || name == "client_secret" {
		i.Type, i.Autocomplete = "password", "new-password"
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
	tabs := []ui.Tab{{Label: "Account", Href: "/settings"}, {Label: "Usage", Href: "/settings/usage"}, {Label: "Secrets", Href: "/secrets"}, {Label: "Limits", Href: "/limits"}, {Label: "Alerts", Href: "/alerts"}, {Label: "Audit log", Href: "/settings/audit"}}
	for i := range tabs {
		tabs[i].Current = tabs[i].Href == current
	}
	return tabs
}

var maxHostsText = templ.Attributes{"maxlength": "6000"}
