package dashboard

import (
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/store"
)

// scopeChoices explain the scopes, the usual one first.
var scopeChoices = []ui.Choice{
	{Value: string(store.ScopeJobs), Label: "jobs: create, change and read jobs and schedules"},
	{Value: string(store.ScopeRead), Label: "read: only read them"},
	{Value: string(store.ScopeAdmin), Label: "admin: also keys, signing secrets and the audit log"},
}

// expiryChoices are after how many days a key expires.
var expiryChoices = []ui.Choice{
	{Value: "", Label: "Never"}, {Value: "7", Label: "In 7 days"}, {Value: "30", Label: "In 30 days"}, {Value: "90", Label: "In 90 days"}, {Value: "365", Label: "In a year"},
}

// maxExpiryDays keeps a number of days within what a time can be moved by.
const maxExpiryDays = 36_500

// keySpec reads the form of a new key.
func (c *call) keySpec() auth.KeySpec {
	form := c.r.PostForm
	spec := auth.KeySpec{Name: form.Get("name"), Scope: store.Scope(form.Get("scope"))}
	if spec.Scope == "" {
		spec.Scope = store.ScopeJobs
	}
	if days, err := strconv.Atoi(form.Get("expires")); err == nil {
		spec.ExpiresAt = c.server.Store.Now().Add(time.Duration(min(max(days, 0), maxExpiryDays)) * 24 * time.Hour)
	}
	spec.CIDRs = strings.FieldsFunc(form.Get("cidrs"), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
	return spec
}

func (s *Server) addKey(c *call) error {
	if err := s.makeKey(c, c.viewer().Account, c.keySpec()); err != nil {
		return s.refuseForm(c, "key", err)
	}
	return c.redirect("/settings?done=key")
}

// keyShown is how long a new key waits to be shown.
const keyShown = 5 * time.Minute

// makeKey makes a key. The browser carries it to the page that shows it, once.
func (s *Server) makeKey(c *call, account *store.Account, spec auth.KeySpec) error {
	key, _, err := s.Auth.AddKey(c.r.Context(), account.Owner, spec, c.actor())
	if err == nil {
		c.setCookie(keyCookie, key, keyShown)
	}
	return err
}

// newKey gives the key that was just made, to be shown now; "" when there is none.
func (c *call) newKey() string {
	key := c.cookie(keyCookie)
	if key != "" {
		c.setCookie(keyCookie, "", 0)
	}
	if !strings.HasPrefix(key, auth.KeyPrefix) {
		return ""
	}
	return key
}

// cidrProblem gives what is wrong with the networks of a new key; "" for nothing.
func (d *settings) cidrProblem() string {
	if p := d.at("key", "#/cidrs"); p != "" {
		return p
	}
	for i := range auth.MaxCIDRs {
		if p := d.at("key", "#/cidrs/"+strconv.Itoa(i)); p != "" {
			return p
		}
	}
	return ""
}

// maxTyped is how long a text may be to be given back to who typed it.
const maxTyped = 2000

// typed gives what a refused form had in a field.
func (d *settings) typed(form, name string) string {
	if text := d.values.Get(name); d.form == form && len(text) <= maxTyped {
		return text
	}
	return ""
}

// keyLimits says where a key can be used; "" for anywhere.
func keyLimits(k *store.Key) string {
	if len(k.CIDRs) == 0 {
		return ""
	}
	return "from " + strings.Join(k.CIDRs, ", ")
}
