package dashboard

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/operator"
)

func TestSettings_Keys(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.get("/welcome")
	w.pass(time.Second)
	b.want(b.post("/settings/keys", "name", `<b>"billing"</b>`), 303, "/settings?done=key")
	page := b.want(b.get("/settings?done=key"), 200, "&lt;b&gt;&#34;billing&#34;&lt;/b&gt;")
	key := keyPattern.FindString(page.body)
	if w.calls(key) != 200 {
		t.Errorf("the key %q does not work", key)
	}
	if again := b.get("/settings"); strings.Contains(again.body, key) {
		t.Error("the key is shown twice")
	}
	revoke := regexp.MustCompile(`/settings/keys/[0-9a-f-]{36}/revoke`).FindString(page.body) // of the newest
	b.want(b.post(revoke), 303, "/settings?done=revoked")
	if w.calls(key) != 401 {
		t.Error("a revoked key works")
	}
	other := w.account("other@example.com")
	_, others, err := auth.CreateKey(t.Context(), w.s, other, "k", w.s.Now())
	if err != nil {
		t.Fatal(err)
	}
	b.want(b.post("/settings/keys/"+others.ID.String()+"/revoke"), 404, "no such key")
	b.want(b.post("/settings/keys/x/revoke"), 404, "no such key")
	b.want(b.post("/settings/keys", "name", "two\nlines"), 422, "must be at most 255 printable characters")
	for i := range 99 {
		w.pass(time.Millisecond)
		b.want(b.post("/settings/keys", "name", fmt.Sprintf("key %d %s", i, strings.Repeat("x", 200))), 303, "/settings?done=key")
	}
	b.want(b.post("/settings/keys", "name", "one too many"), 422, "maximum number of keys")
	b.want(b.get("/settings?from=20"), 200, "Older")
	b.want(b.get("/settings?from=x"), 200, "key 98")
	b.want(b.get("/settings?from=9999"), 200, "Newest")
}

func (w *site) account(email string) *identity.Account {
	w.Helper()
	a, err := auth.CreateAccount(w.Context(), w.s, email, w.s.Now())
	if err != nil {
		w.Fatal(err)
	}
	return a
}

func TestSettings_SigningSecret(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	before := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(b.get("/settings").body)
	w.pass(time.Second)
	b.want(b.post("/settings/signing-secret"), 303, "/settings?done=rotated")
	page := b.want(b.get("/settings?done=rotated"), 200, "also signs for 24 hours")
	if first := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(page.body); first == before || !strings.Contains(page.body, before) {
		t.Error("the old secret does not stand behind a new one")
	}
	w.pass(25 * time.Hour)
	if strings.Contains(b.get("/settings").body, before) {
		t.Error("the old secret is shown after it has ended")
	}
}

func TestSettings_Password(t *testing.T) {
	w := newSite(t, false)
	b, other := w.citizen(), w.browser()
	other.want(other.signIn("ann@example.com", secretWords), 303, "/")
	b.want(b.post("/settings/password", "current", "wrong", "password", "new "+secretWords), 422, "Current password is not your password")
	b.want(b.post("/settings/password", "current", secretWords, "password", "short"), 422, "New password must have at least 10 characters")
	other.want(other.get("/settings"), 200, "")
	b.want(b.post("/settings/password", "current", secretWords, "password", "new "+secretWords), 303, "/settings?done=password")
	b.want(b.get("/settings"), 200, "")
	other.want(other.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	other.want(other.signIn("ann@example.com", secretWords), 401, "wrong")
	other.want(other.signIn("ann@example.com", "new "+secretWords), 303, "/")
}

func TestSettings_DeleteAccount(t *testing.T) {
	w := newSite(t, false)
	b, other := w.citizen(), w.browser()
	key := keyPattern.FindString(b.get("/welcome").body)
	other.signIn("ann@example.com", secretWords)
	b.want(b.post("/settings/delete", "password", "wrong"), 422, "This is not your password")
	b.want(b.get("/settings"), 200, "")
	b.want(b.post("/settings/delete", "password", secretWords), 303, "/sign-in?done=deleted")
	b.want(b.get("/sign-in?done=deleted"), 200, "The account is deleted")
	for _, one := range []*browser{b, other} {
		one.want(one.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	}
	if w.calls(key) != 401 {
		t.Error("the key works")
	}
	b.want(b.signIn("ann@example.com", secretWords), 401, "wrong")
	b.want(b.signUp("eve@example.com"), 403, "Sign-up is closed") // the door stays closed
}

func TestOperator_SeesSizesButNoPayloads(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	a := w.account("other@example.com")
	for range 3 {
		if _, _, err := w.service.Create(t.Context(), a.Owner,
			[]byte(`{"url":"https://example.com/secret-path","body":"secret-body","name":"secret-name","schedule_in":60}`),
			nil); err != nil {
			t.Fatal(err)
		}
	}
	b.want(b.get("/operator"), 200, "No target is blocked")
	for i := range blocksShown + 2 {
		block := &operator.TargetBlock{Target: fmt.Sprintf("t%03d.example", i), Reason: "<i>floods</i>", BlockedAt: w.s.Now()}
		if err := w.s.TargetBlock(t.Context(), block); err != nil {
			t.Fatal(err)
		}
	}
	b.want(b.get("/operator"), 200, "t000.example")
	b.want(b.get("/operator"), 200, "&lt;i&gt;floods")
	b.want(b.get("/operator"), 200, "And 2 more")
	page := b.want(b.get("/operator"), 200, "other@example.com")
	if strings.Contains(page.body, "secret-") {
		t.Error("the operator sees what jobs contain")
	}
	if !regexp.MustCompile(`data-label="Pending jobs">3<`).MatchString(page.body) {
		t.Errorf("the page does not show the sizes: %s", page.body)
	}
	for i := range 12 {
		w.account(fmt.Sprintf("user%d@example.com", i))
	}
	next := regexp.MustCompile(`/operator\?after=\d+`).FindString(b.get("/operator").body)
	b.want(b.get(next), 200, "user11@example.com")
	if err := w.s.AccountOperator(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	b.want(b.get("/operator"), 404, "no page")
}
