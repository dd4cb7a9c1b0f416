package dashboard

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
)

func TestSignUp_ShowsTheFirstKeyOnce(t *testing.T) {
	w := newSite(t, false)
	b := w.browser()
	b.want(b.get("/"), 303, "/sign-up")
	b.want(b.get("/jobs"), 303, "/sign-up")
	b.want(b.get("/sign-up"), 200, "the operator's")
	for _, cookie := range b.want(b.signUp("ann@example.com"), 303, "/welcome").Cookies() {
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" || cookie.Secure ||
			cookie.MaxAge <= 0 {
			t.Errorf("the cookie %+v", cookie)
		}
	}
	page := b.want(b.get("/welcome"), 200, "You won't see it again")
	key := keyPattern.FindString(page.body)
	if status := w.calls(key); status != 200 {
		t.Errorf("the key %q gets %d", key, status)
	}
	if strings.Count(page.body, key) < 6 {
		t.Error("the key is not filled in")
	}
	if again := b.get("/welcome"); strings.Contains(again.body, key) {
		t.Error("the key is shown twice")
	}
	b.want(b.get("/sign-up"), 303, "/")
	b.want(b.get("/sign-in"), 303, "/")
	b.want(w.browser().get("/sign-up"), 200, "Sign-up is closed")
	b.want(w.browser().signUp("bob@example.com"), 403, "Sign-up is closed")
	b.want(w.browser().get("/"), 303, "/sign-in")
}

func TestCookies_AreBoundToTheHostOverTLS(t *testing.T) {
	w := newSite(t, true)
	b := w.browser()
	cookies := b.signUp("ann@example.com").Cookies()
	if len(cookies) != 2 {
		t.Fatalf("%d cookies", len(cookies))
	}
	for _, cookie := range cookies {
		if !cookie.Secure || !cookie.HttpOnly || !strings.HasPrefix(cookie.Name, "__Host-") {
			t.Errorf("the cookie %+v", cookie)
		}
	}
	b.want(b.get("/settings"), 200, "ann@example.com")
}

func TestCookies_AreSecureBehindATLSProxy(t *testing.T) {
	w := newSite(t, false)
	b := w.browser()
	b.header.Set("X-Forwarded-Proto", "https")
	b.header.Set("Origin", "https://"+strings.TrimPrefix(w.url, "http://"))
	for _, cookie := range b.want(b.signUp("ann@example.com"), 303, "/welcome").Cookies() {
		if !cookie.Secure || !strings.HasPrefix(cookie.Name, "__Host-") {
			t.Errorf("the cookie %+v", cookie)
		}
	}
}

func TestSignIn_RedirectsToTheRequestedPage(t *testing.T) {
	w := newSite(t, false)
	w.citizen()
	b := w.browser()
	b.want(b.get("/jobs?state=completed"), 303, "/sign-in?to=%2Fjobs%3Fstate%3Dcompleted")
	b.want(b.get("/sign-in?to=%2Fjobs%3Fstate%3Dcompleted"), 200, `value="/jobs?state=completed"`)
	b.want(b.post("/sign-in", "email", " ANN@example.com", "password", secretWords, "to", "/jobs?state=completed"), 303,
		"/jobs?state=completed")
	for _, elsewhere := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "javascript:alert(1)", "evil",
		"/\t/evil.example", "http:/evil"} {
		b := w.browser()
		b.want(b.post("/sign-in", "email", "ann@example.com", "password", secretWords, "to", elsewhere), 303, "/")
	}
	b.want(b.post("/sign-out"), 303, "/sign-in")
	b.want(b.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	b.header.Set("HX-Request", "true")
	if a := b.get("/welcome?part=live"); a.StatusCode != 204 || a.Header.Get("HX-Redirect") != "/sign-in" {
		t.Errorf("a part of a page: %d, %q", a.StatusCode, a.Header.Get("HX-Redirect"))
	}
}

func TestSignIn_RevealsNothingAndIsThrottled(t *testing.T) {
	w := newSite(t, false)
	w.citizen()
	wrong, unknown := w.browser().signIn("ann@example.com", "wrong"), w.browser().signIn("bob@example.com", "wrong")
	b := w.browser()
	b.want(wrong, 401, "The email or the password is wrong.")
	b.want(unknown, 401, "The email or the password is wrong.")
	if alike(wrong.body) != alike(strings.ReplaceAll(unknown.body, "bob@", "ann@")) {
		t.Errorf("the responses differ:\n%s\n%s", wrong.body, unknown.body)
	}
	for range 4 {
		b.want(b.signIn("ann@example.com", "wrong"), 401, "wrong")
	}
	if a := b.want(b.signIn("ann@example.com", secretWords), 429, "Too many attempts"); a.Header.Get("Retry-After") == "" {
		t.Error("it is not told when to try again")
	}
	w.pass(2 * time.Minute)
	b.want(b.signIn("ann@example.com", secretWords), 303, "/")
}

var changing = regexp.MustCompile(`data-now="[^"]*"`)

func alike(body string) string { return changing.ReplaceAllString(body, "") }

func TestSignUp_RevealsNoAccounts(t *testing.T) {
	w := newSite(t, false, signup(auth.SignupOpen))
	w.citizen()
	taken, fresh := w.browser().signUp("ann@example.com"), w.browser().signUp("bob@example.com")
	b := w.browser()
	b.want(taken, 200, "Sign in now")
	b.want(fresh, 200, "Sign in now")
	if alike(taken.body) != alike(strings.ReplaceAll(fresh.body, "bob@", "ann@")) {
		t.Errorf("the responses differ:\n%s\n%s", taken.body, fresh.body)
	}
	if len(taken.Cookies()) != 0 || len(fresh.Cookies()) != 0 {
		t.Error("the cookies differ, or are there at all")
	}
	// The newcomer signs in and gets on to the first steps.
	b.want(b.signIn("bob@example.com", secretWords), 303, "/welcome")
}

func TestInvite_IsShownOnceAndAdmitsOne(t *testing.T) {
	w := newSite(t, false, signup(auth.SignupInvite))
	code, _, err := auth.CreateInvite(t.Context(), w.s, w.s.Now())
	if err != nil {
		t.Fatal(err)
	}
	// The first needs the setup code; no invite makes an operator.
	first := w.browser()
	first.want(first.get("/sign-up?setup=ABCD-EFGH"), 200, `value="ABCD-EFGH"`)
	first.want(first.post("/sign-up", "email", "ann@example.com", "password", secretWords, "invite", code, "setup", code), 422,
		"is not known, or too old; the service printed the code when it started")
	first.want(first.signUp("ann@example.com"), 303, "/welcome")
	guest := w.browser()
	guest.want(guest.get("/sign-up?invite="+code), 200, `value="`+code+`"`)
	guest.want(guest.post("/sign-up", "email", "eve@example.com", "password", secretWords, "invite", "inv_x"), 422, "Invite is not known")
	guest.want(guest.post("/sign-up", "email", "eve@example.com", "password", secretWords, "invite", code), 303, "/welcome")
	guest.want(guest.get("/operator"), 404, "no page")
	page := first.want(first.post("/operator/invites"), 200, "/sign-up?invite=inv_")
	second := regexp.MustCompile(`inv_[0-9A-Za-z]{43}`).FindString(page.body)
	b := w.browser()
	b.want(b.post("/sign-up", "email", "bob@example.com", "password", secretWords, "invite", second), 303, "/welcome")
	b.want(b.get("/operator"), 404, "no page")
	b.want(b.post("/operator/invites"), 404, "no page")
}

func TestSession_EndsWhenUnused(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	w.pass(13 * 24 * time.Hour)
	if cookies := b.want(b.get("/settings"), 200, "").Cookies(); len(cookies) == 0 || cookies[0].MaxAge != 14*24*3600 {
		t.Errorf("the cookie of a session in use is not extended: %v", cookies)
	}
	w.pass(13 * 24 * time.Hour)
	b.want(b.get("/settings"), 200, "")
	w.pass(14*24*time.Hour + time.Second)
	b.want(b.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	b.want(b.post("/settings/keys", "name", "late"), 303, "/sign-in")
}

func TestForgedRequests_ChangeNothing(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	a, err := w.s.AccountGet(t.Context(), "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := w.s.PersonGet(t.Context(), "ann@example.com")
	keys, _ := w.s.KeyList(t.Context(), a.Number)
	for _, from := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
		{"Sec-Fetch-Site": {"same-site"}, "Origin": {"https://evil.example"}},
		{"Sec-Fetch-Site": nil, "Origin": {"https://evil.example"}}, {"Sec-Fetch-Site": nil, "Origin": {"null"}},
	} {
		b.header = from
		for _, path := range []string{"/sign-out", "/sign-in", "/sign-up", "/settings/keys",
			"/settings/keys/" + keys[0].ID.String() + "/revoke",
			"/settings/signing-secret", "/settings/password", "/settings/delete", "/welcome/key", "/welcome/send", "/operator/invites",
			"/sign-in/code",
			"/settings/second-factor", "/settings/second-factor/confirm", "/settings/second-factor/disable",
			"/settings/second-factor/recovery-codes",
			"/settings/sessions/end-others", "/settings/sessions/x/end", "/settings/members/invite", "/settings/members/x/role",
			"/settings/members/x/remove", "/account/switch", "/join/x"} {
			b.want(b.post(path, "current", secretWords, "password", secretWords+" too", "name", "forged"), 403, "came from another site")
		}
	}
	b.header = http.Header{}
	b.want(b.get("/settings"), 200, "ann@example.com")
	after, err := w.s.AccountGet(t.Context(), "ann@example.com")
	person, _ := w.s.PersonGet(t.Context(), "ann@example.com")
	left, _ := w.s.KeyList(t.Context(), a.Number)
	if err != nil || person.Password != before.Password || len(after.Secrets) != 1 || len(left) != 1 || !left[0].RevokedAt.IsZero() {
		t.Errorf("something has changed: %+v, %d keys", after, len(left))
	}
}
