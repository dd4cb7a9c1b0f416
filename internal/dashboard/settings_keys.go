package dashboard

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/identity"
)

// scopeChoices describe the scopes, the usual one first.
var scopeChoices = []ui.Choice{
	{Value: string(identity.ScopeJobs), Label: "jobs: jobs and schedules"},
	{Value: string(identity.ScopeRead), Label: "read: only read jobs and schedules"},
	{Value: string(identity.ScopeAdmin), Label: "admin: also keys, signing secrets, people and the audit log"},
}

// expiryChoices are days until a key expires.
var expiryChoices = []ui.Choice{
	{Value: "", Label: "Never"}, {Value: "7", Label: "In 7 days"}, {Value: "30", Label: "In 30 days"}, {Value: "90", Label: "In 90 days"},
	{Value: "365", Label: "In a year"},
}

// maxExpiryDays is the maximum number of days, so that adding them can't overflow.
const maxExpiryDays = 36_500

// keysShown is how many keys a page of the settings has.
const keysShown = 20

// readKeys reads a page of the keys that work, newest first.
func (s *Server) readKeys(c *call, d *view.Settings) error {
	keys, err := s.Auth.Keys(c.r.Context(), c.owner().Number)
	if err != nil {
		return err
	}
	all := len(keys)
	keys = slices.DeleteFunc(keys, func(k *identity.Key) bool { return !auth.Works(k, s.Service.Now()) })
	slices.Reverse(keys)
	d.WorkingKeys, d.RevokedKeys, d.CanAddKey = len(keys), all-len(keys), len(keys) < auth.MaxKeys
	from, _ := strconv.Atoi(c.param("from")) // anything else is the first page
	from = min(max(from, 0), len(keys))
	to := min(from+keysShown, len(keys))
	for _, k := range keys[from:to] {
		d.Keys = append(d.Keys, view.Key{
			ID: k.ID.String(), Name: k.Name, Prefix: k.Prefix, Scope: string(k.Scope), Networks: strings.Join(k.CIDRs, ", "),
			MadeBy: k.MadeBy, CreatedAt: k.CreatedAt, LastUsedAt: k.LastUsedAt, ExpiresAt: k.ExpiresAt,
		})
	}
	if to < len(keys) {
		d.Next = c.here("from", strconv.Itoa(to))
	}
	if from > 0 {
		d.First = c.here("from", "")
	}
	return nil
}

// keySpec reads the form of a new key.
func (c *call) keySpec() auth.KeySpec {
	form := c.r.PostForm
	spec := auth.KeySpec{Name: form.Get("name"), Scope: identity.Scope(form.Get("scope"))}
	if spec.Scope == "" {
		spec.Scope = identity.ScopeJobs
	}
	if days, err := strconv.Atoi(form.Get("expires")); err == nil {
		spec.ExpiresAt = c.server.Service.Now().Add(time.Duration(min(max(days, 0), maxExpiryDays)) * 24 * time.Hour)
	}
	spec.CIDRs = strings.FieldsFunc(form.Get("cidrs"),
		func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
	return spec
}

func (s *Server) addKey(c *call) error {
	if err := s.createKey(c, c.account(), c.keySpec()); err != nil {
		return s.refuseForm(c, "key", err)
	}
	return c.redirect("/settings?done=key")
}

// keyShown is how long the cookie with a new key lasts.
const keyShown = 5 * time.Minute

// createKey creates a key and sets a cookie with it, for the page that shows it
// once.
func (s *Server) createKey(c *call, account *identity.Account, spec auth.KeySpec) error {
	key, _, err := s.Auth.AddKey(c.r.Context(), account.Owner, spec, c.actor())
	if err == nil {
		c.setCookie(keyCookie, key, keyShown)
	}
	return err
}

// keepKey has the next page that shows a new key show this one, which a form of such a
// page sent back. Any other text is ignored.
func (c *call) keepKey(key string) {
	if strings.HasPrefix(key, auth.KeyPrefix) && len(key) <= maxKey {
		c.setCookie(keyCookie, key, keyShown)
	}
}

// maxKey is an upper limit of the length of a key in bytes.
const maxKey = 100

// newKey returns the key that was just created and removes its cookie; "" if there
// is none.
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
