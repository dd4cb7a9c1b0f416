package dashboard

import (
	"encoding/base32"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/identity"
)

// key reads the newest key of an account.
func (w *site) key(email string) *identity.Key {
	w.Helper()
	a, err := w.s.AccountGet(w.Context(), email)
	if err != nil {
		w.Fatal(err)
	}
	keys, err := w.s.KeyList(w.Context(), a.Number)
	if err != nil {
		w.Fatal(err)
	}
	return keys[len(keys)-1]
}

func TestKeys_HaveTheScopeJobsByDefault(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	if k := w.key("ann@example.com"); k.Scope != identity.ScopeJobs {
		t.Errorf("the first key has the scope %s", k.Scope)
	}
	w.pass(time.Second)
	b.want(b.post("/welcome/key"), 303, "/welcome?done=key")
	if k := w.key("ann@example.com"); k.Scope != identity.ScopeJobs {
		t.Errorf("the key of the first steps has the scope %s", k.Scope)
	}
	b.want(b.get("/settings"), 200, `<option value="jobs"`)
	w.pass(time.Second)
	b.want(b.post("/settings/keys", "name", "plain"), 303, "/settings?done=key")
	if k := w.key("ann@example.com"); k.Scope != identity.ScopeJobs || !k.ExpiresAt.IsZero() || k.CIDRs != nil {
		t.Errorf("a plain key is %+v", k)
	}
	w.pass(time.Second)
	b.want(b.post("/settings/keys", "name", "limited", "scope", "read", "expires", "30", "cidrs", "192.0.2.1/24, 2001:db8::/32"), 303,
		"/settings?done=key")
	k := w.key("ann@example.com")
	if k.Scope != identity.ScopeRead || !k.ExpiresAt.Equal(w.clock().Add(30*24*time.Hour)) ||
		fmt.Sprint(k.CIDRs) != "[192.0.2.0/24 2001:db8::/32]" {
		t.Errorf("a limited key is %+v", k)
	}
	b.want(b.get("/settings"), 200, "from 192.0.2.0/24, 2001:db8::/32")
	page := b.want(b.post("/settings/keys", "name", "kept", "scope", "admin", "expires", "90", "cidrs", "192.0.2.1, x"), 422,
		"must be a network such as")
	for _, kept := range []string{`value="kept"`, `<option value="admin" selected`, `<option value="90" selected`, `value="192.0.2.1, x"`} {
		if !strings.Contains(page.body, kept) {
			t.Errorf("the refused form has lost %s", kept)
		}
	}
	for _, days := range []string{"-1", "0", "99999999999"} {
		b.post("/settings/keys", "expires", days)
	}
	b.want(b.post("/settings/keys", "scope", "write"), 422, "must be read, jobs or admin")
	// A key that has expired is not listed any more.
	w.pass(31 * 24 * time.Hour)
	b = w.browser()
	b.want(b.signIn("ann@example.com", secretWords), 303, "/")
	if page := b.get("/settings"); strings.Contains(page.body, "limited") || !strings.Contains(page.body, "revoked, or expired") {
		t.Error("an expired key is listed")
	}
}

func TestSettings_Sessions(t *testing.T) {
	w := newSite(t, false)
	b, other := w.citizen(), w.browser()
	other.header.Set("User-Agent", "Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 <b>Safari/537")
	w.pass(time.Minute)
	other.want(other.signIn("ann@example.com", secretWords), 303, "/")
	page := b.want(b.get("/settings"), 200, "Chrome on Windows")
	end := regexp.MustCompile(`/settings/sessions/[0-9a-f]{64}/end`).FindAllString(page.body, -1)
	if len(end) != 2 || strings.Count(page.body, "this one") != 1 {
		t.Fatalf("%d sessions are listed", len(end))
	}
	b.want(b.post("/settings/sessions/x/end"), 404, "no such session")
	b.want(b.post(end[0]), 303, "/settings?done=ended")
	other.want(other.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	b.want(b.post(end[0]), 404, "no such session")
	other.want(other.signIn("ann@example.com", secretWords), 303, "/")
	b.want(b.post("/settings/sessions/end-others"), 303, "/settings?done=endedothers")
	other.want(other.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	b.want(b.post(end[1]), 303, "/sign-in") // its own
	b.want(b.get("/settings"), 303, "/sign-in?to=%2Fsettings")
}

func TestSession_CookieExpiresWithIt(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	for range 6 {
		w.pass(13 * 24 * time.Hour)
		b.want(b.get("/settings"), 200, "")
	}
	w.pass(7 * 24 * time.Hour) // day 85
	cookies := b.want(b.get("/settings"), 200, "").Cookies()
	if len(cookies) == 0 || cookies[0].MaxAge != 5*24*3600 {
		t.Errorf("the cookie on day 85 is %v", cookies)
	}
	w.pass(5 * 24 * time.Hour)
	b.want(b.get("/settings"), 303, "/sign-in?to=%2Fsettings")
}

func TestSettings_PasswordChangeRevokesKeysOnRequest(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	key := keyPattern.FindString(b.get("/welcome").body)
	b.want(b.get("/settings"), 200, "Also revoke all API keys")
	b.want(b.post("/settings/password", "current", secretWords, "password", "new "+secretWords), 303, "/settings?done=password")
	if w.calls(key) != 200 {
		t.Error("the key is revoked unasked")
	}
	b.want(b.post("/settings/password", "current", "new "+secretWords, "password", secretWords, "revoke_keys", "true"), 303,
		"/settings?done=passwordkeys")
	if w.calls(key) != 401 {
		t.Error("the key works")
	}
	b.want(b.get("/settings?done=passwordkeys"), 200, "all keys are revoked")
}

func TestSecondFactor_Pages(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.get("/settings/second-factor"), 200, "<h2>Off</h2>")
	b.want(b.post("/settings/second-factor/confirm", "code", "123456"), 422, "too old; begin again")
	b.want(b.post("/settings/second-factor/disable", "password", secretWords, "code", "123456"), 422, "not switched on")
	b.want(b.post("/settings/second-factor", "password", secretWords), 303, "/settings/second-factor")
	page := b.want(b.get("/settings/second-factor"), 200, "Scan this code")
	secret := regexp.MustCompile(`secret=([A-Z2-7]{32})&`).FindStringSubmatch(page.body)
	if secret == nil || !strings.Contains(page.body, `aria-label="QR code`) {
		t.Fatalf("the page is %s", page.body)
	}
	if key, err := base32.StdEncoding.DecodeString(secret[1]); err != nil || len(key) != 20 {
		t.Errorf("the secret is %q: %v", secret[1], err)
	}
	b.want(b.get("/settings"), 200, "switched off") // until a code has confirmed it
	w.pass(time.Hour)
	b.want(b.get("/settings/second-factor"), 200, "<h2>Off</h2>")
	// Nobody else may see it.
	b.want(w.browser().get("/settings/second-factor"), 303, "/sign-in?to=%2Fsettings%2Fsecond-factor")
	b.want(w.browser().get("/sign-in/code"), 303, "/sign-in")
	b.want(w.browser().post("/sign-in/code", "code", "123456"), 200, "Please sign in again")
}

func TestAuditLog_Pages(t *testing.T) {
	w := newSite(t, false, signup(auth.SignupInvite))
	b := w.citizen()
	b.want(b.get("/settings/audit"), 200, "Account created")
	for range 60 {
		w.pass(time.Second)
		b.want(b.post("/settings/signing-secret"), 303, "/settings?done=rotated")
	}
	b.want(b.post("/operator/invites"), 200, "inv_")
	b.want(b.get("/operator/audit"), 200, "Operator ann@example.com")
	b.want(w.browser().signIn("nobody@example.com", "wrong"), 401, "wrong")
	b.want(b.get("/operator/audit"), 200, "no account has the email nobody@example.com")
	page := b.want(b.get("/settings/audit?after=x"), 200, "Older")
	if strings.Contains(page.body, "nobody@example.com") || strings.Contains(page.body, "inv_") {
		t.Error("the account's log shows what is the service's")
	}
	next := regexp.MustCompile(`/settings/audit\?after=[0-9a-f-]{36}`).FindString(page.body)
	b.want(b.get(next), 200, "Newest")
	if err := w.s.AccountOperator(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	b.want(b.get("/operator/audit"), 404, "no page")
	b.want(w.browser().get("/settings/audit"), http.StatusSeeOther, "/sign-in?to=%2Fsettings%2Faudit")
}
