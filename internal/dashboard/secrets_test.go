package dashboard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/secret"
)

// encrypted gives the site a key to encrypt secrets with.
func encrypted(t *testing.T) siteOption {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(secret.NewKey()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := secret.OpenKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config, _ *auth.PeopleConfig) { c.Secrets.Keys = keys }
}

func TestSecrets_StoreAndDelete(t *testing.T) {
	w := newSite(t, false, encrypted(t))
	b := w.citizen()
	b.want(b.get("/secrets"), 200, "No secrets yet")
	b.want(b.post("/secrets", "name", "github", "hosts", "api.github.com, uploads.github.com", "kind", "value", "value", "hunter2hunter2"),
		303, "/secrets?done=secretcreated")
	page := b.want(b.get("/secrets"), 200, "api.github.com, uploads.github.com")
	if strings.Contains(page.body, "hunter2") {
		t.Error("the value is shown")
	}
	b.want(b.get("/secrets?name=github"), 200, "api.github.com\nuploads.github.com</textarea>")
	b.want(b.post("/secrets", "name", "github", "hosts", "api.github.com", "kind", "value", "value", "other"), 303,
		"/secrets?done=secretchanged")
	b.want(b.post("/secrets", "name", "reports", "hosts", "api.example.com", "kind", "oauth2", "token_url",
		"https://login.example.com/token", "client_id", "me", "client_secret", "hunter2"), 303, "/secrets?done=secretcreated")

	refused := b.want(b.post("/secrets", "name", "bad name", "hosts", "https://x", "kind", "value", "value", "hunter2\n"), 422,
		"Name must have 1 to 64")
	b.want(refused, 422, "Hosts entry 1 must be a host name")
	if strings.Contains(refused.body, "hunter2") {
		t.Error("a refused value is shown")
	}
	b.want(b.post("/secrets", "name", "x", "hosts", "", "kind", "value"), 422, "Hosts must have 1 to 20")
	b.want(b.post("/secrets", "name", "x", "hosts", "a.example.com", "kind", "oauth2", "client_id", "me"), 422, "Token URL is required")

	w.create(w.owner("ann@example.com"), `{"url":"https://api.github.com","headers":{"authorization":"Bearer {{secret.github}}"},"schedule_in":3600}`)
	b.want(b.post("/secrets/github/delete"), 409, "1 unfinished job uses the secret github")
	b.want(b.post("/secrets/reports/delete"), 303, "/secrets?done=secretdeleted")
	b.want(b.post("/secrets/reports/delete"), 404, "no such secret")
	b.want(b.get("/settings/audit"), 200, "Secret deleted")
}

func TestSecrets_NeedAKeyAndAnAccount(t *testing.T) {
	w := newSite(t, false, public)
	b := w.citizen()
	b.want(b.get("/secrets"), 200, "--secrets-key-file")
	b.want(b.post("/secrets", "name", "x", "hosts", "a.example.com", "kind", "value", "value", "v"), 422, "--secrets-key-file")
	b.want(b.get("/public/secrets"), 404, "There is no page")
	b.want(b.post("/public/secrets", "name", "x"), 404, "nothing at this path")
	visitor := w.browser()
	visitor.want(visitor.get("/secrets"), 303, "/sign-in?to=%2Fsecrets")
}
