package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestPeopleProvider_SignInJoinsAndTheClaimDecidesOnTheRole(t *testing.T) {
	t.Parallel()
	p := newOpenID(t)
	s := p.at(harness.Flag("oidc-allowed-domains", "example.com"), harness.Flag("oidc-role-claim", "realm.groups"),
		harness.Flag("oidc-roles", "ops=admin,dev=editor"))
	grouped := func(email string, groups ...string) map[string]any {
		claims := p.person(email)
		claims["realm"] = map[string]any{"groups": groups}
		return claims
	}
	ann, bob := newSurfer(t, s), newSurfer(t, s)
	if _, _, text := ann.open("GET", "/sign-in", nil); !strings.Contains(text, "single sign-on") || !strings.Contains(text, "password") {
		t.Errorf("the page to sign in: %s", text)
	}
	sent := ann.begin("/jobs")
	if sent.Get("code_challenge_method") != "S256" || len(sent.Get("code_challenge")) != 43 || sent.Get("response_type") != "code" ||
		sent.Get("scope") != "openid email profile" {
		t.Errorf("the service asks for %v", sent)
	}
	// The first gets the first account and a key, others join it.
	if status, to, text := ann.open("GET", p.back(sent, grouped("Ann@example.com", "ops")), nil); status != 303 || to != "/welcome" {
		t.Fatalf("the first: %d, %q, %s", status, to, text)
	}
	if status, _, text := ann.open("GET", "/operator", nil); status != 200 {
		t.Errorf("the first is no operator: %d, %s", status, text)
	}
	for _, step := range []struct{ group, role string }{{"dev", "editor"}, {"ops", "admin"}, {"dev", "editor"}} {
		if status, to, text := bob.signIn(p, grouped("bob@example.com", "other", step.group)); status != 303 || to != "/jobs" {
			t.Fatalf("bob of %s: %d, %q, %s", step.group, status, to, text)
		}
		if got := s.Command(t, "accounts", "members", "ann@example.com"); !regexp.MustCompile(`bob@example.com\s+` +
			step.role).MatchString(got) {
			t.Errorf("bob of %s: %s", step.group, got)
		}
	}
	// Without a group he has no access any more, and his sessions end.
	other := newSurfer(t, s)
	if status, _, text := other.signIn(p, grouped("bob@example.com", "other")); status != 403 || !strings.Contains(text, "groups") {
		t.Errorf("bob without a group: %d, %s", status, text)
	}
	if bob.signedIn() || !ann.signedIn() {
		t.Errorf("signed in: bob %t, ann %t", bob.signedIn(), ann.signedIn())
	}
}

func TestPeopleProvider_AttacksAreRefused(t *testing.T) {
	t.Parallel()
	p := newOpenID(t)
	s := p.at(harness.Flag("oidc-allowed-domains", "example.com"))
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	unsigned := func(claims map[string]any) string {
		payload, _ := json.Marshal(claims)
		encode := base64.RawURLEncoding.EncodeToString
		return encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + "."
	}
	set := func(name string, value any) func(map[string]any) {
		return func(claims map[string]any) { claims[name] = value }
	}
	for name, attack := range map[string]struct {
		claims func(map[string]any)
		forge  func(map[string]any) string
		query  func(url.Values)
		status int
	}{
		"another nonce":         {claims: set("nonce", "other"), status: 401},
		"another audience":      {claims: set("aud", "other"), status: 401},
		"several audiences":     {claims: set("aud", []string{clientID, "other"}), status: 401},
		"another party":         {claims: set("azp", "other"), status: 401},
		"another issuer":        {claims: set("iss", "https://other.example"), status: 401},
		"expired":               {claims: set("exp", time.Now().Add(-2*time.Minute).Unix()), status: 401},
		"from the future":       {claims: set("iat", time.Now().Add(time.Hour).Unix()), status: 401},
		"no subject":            {claims: set("sub", ""), status: 401},
		"a subject with NUL":    {claims: set("sub", "a\x00b"), status: 401},
		"a long subject":        {claims: set("sub", strings.Repeat("x", 256)), status: 401},
		"a wrong access token":  {claims: set("at_hash", "AAAA"), status: 401},
		"an unverified email":   {claims: set("email_verified", false), status: 403},
		"an email not verified": {claims: func(c map[string]any) { delete(c, "email_verified") }, status: 403},
		"no email":              {claims: func(c map[string]any) { delete(c, "email") }, status: 403},
		"another domain":        {claims: set("email", "eve@example.org"), status: 403},
		"a domain below":        {claims: set("email", "eve@x.example.com"), status: 403},
		"two addresses":         {claims: set("email", "eve@example.org,eve@example.com"), status: 403},
		"no signature":          {forge: unsigned, status: 401},
		"the client's secret": {forge: func(c map[string]any) string { return p.signWith(jose.HS256, []byte(clientSecret), "one", c) },
			status: 401},
		"another key":            {forge: func(c map[string]any) string { return p.signWith(jose.ES256, stranger, "one", c) }, status: 401},
		"an unknown key":         {forge: func(c map[string]any) string { return p.signWith(jose.ES256, stranger, "two", c) }, status: 401},
		"no token":               {forge: func(map[string]any) string { return "" }, status: 401},
		"a logout token":         {forge: func(map[string]any) string { return p.sign(p.logout("ann", "")) }, status: 401},
		"another state":          {query: func(q url.Values) { q.Set("state", "other") }, status: 401},
		"no state":               {query: func(q url.Values) { q.Del("state") }, status: 401},
		"two states":             {query: func(q url.Values) { q.Add("state", "other") }, status: 401},
		"a response of another":  {query: func(q url.Values) { q.Set("iss", "https://other.example") }, status: 401},
		"a response of nobody":   {query: func(q url.Values) { q.Del("iss") }, status: 401},
		"an unknown code":        {query: func(q url.Values) { q.Set("code", "other") }, status: 401},
		"two codes":              {query: func(q url.Values) { q.Add("code", "other") }, status: 401},
		"an error":               {query: func(q url.Values) { q.Set("error", "access_denied<script>") }, status: 401},
		"an error without state": {query: func(q url.Values) { q.Del("state"); q.Set("error", "access_denied") }, status: 401},
	} {
		b, claims := newSurfer(t, s), p.person("eve@example.com")
		if attack.claims != nil {
			attack.claims(claims)
		}
		p.mu.Lock()
		p.forge = attack.forge
		p.mu.Unlock()
		path := p.back(b.begin("/jobs"), claims)
		if attack.query != nil {
			rest, _ := url.Parse(path)
			query := rest.Query()
			attack.query(query)
			path = rest.Path + "?" + query.Encode()
		}
		status, to, text := b.open("GET", path, nil)
		if status != attack.status || to != "" || strings.Contains(text, "<script>") || b.signedIn() {
			t.Errorf("%s: status %d, want %d; to %q; signed in: %t", name, status, attack.status, to, b.signedIn())
		}
	}
	p.mu.Lock()
	p.forge, p.reuse = nil, true
	p.mu.Unlock()
	// The state of another browser, as in a link that signs the victim in as somebody else.
	eve, ann := newSurfer(t, s), newSurfer(t, s)
	path := p.back(eve.begin("/"), p.person("eve@example.com"))
	ann.begin("/")
	for name, b := range map[string]*surfer{"with a sign-in of her own": ann, "without": newSurfer(t, s)} {
		if status, _, _ := b.open("GET", path, nil); status != 401 || b.signedIn() {
			t.Errorf("the state of another browser, %s: %d", name, status)
		}
	}
	// Nothing of all that has made an account: eve becomes the first.
	if status, to, text := eve.open("GET", path, nil); status != 303 || to != "/welcome" {
		t.Fatalf("eve herself: %d, %q, %s", status, to, text)
	}
	if status, _, _ := eve.open("GET", path, nil); status != 401 {
		t.Errorf("a response that was used: %d", status)
	}
	for _, to := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "javascript:alert(1)"} {
		if _, went, _ := eve.open("GET", p.back(eve.begin(to), p.person("eve@example.com")), nil); went != "/" {
			t.Errorf("to %q it goes to %q", to, went)
		}
	}
}

func TestPeopleProvider_LogoutTokensEndSessions(t *testing.T) {
	t.Parallel()
	p := newOpenID(t)
	s := p.at(harness.Flag("oidc-allowed-domains", "example.com"))
	ann, elsewhere, bob := newSurfer(t, s), newSurfer(t, s), newSurfer(t, s)
	there := p.person("ann@example.com")
	there["sid"] = "another session"
	ann.signIn(p, p.person("ann@example.com"))
	elsewhere.signIn(p, there)
	bob.signIn(p, p.person("bob@example.com"))
	post := func(token string) (int, string) {
		status, _, text := newSurfer(t, s).open("POST", "/sign-in/backchannel-logout", url.Values{"logout_token": {token}})
		return status, text
	}
	good := p.logout("ann", "")
	with := func(name string, value any) string {
		claims := maps.Clone(good)
		claims["jti"] = rand.Text()
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
		return p.sign(claims)
	}
	const event = "http://schemas.openid.net/event/backchannel-logout"
	for name, token := range map[string]string{
		"none": "", "no token": "x.y.z", "another audience": with("aud", "other"), "another issuer": with("iss", "https://other.example"),
		"no event": with("events", nil), "another event": with("events", map[string]any{"other": map[string]any{}}),
		"an event of another kind": with("events", map[string]any{event: true}),
		"a nonce":                  with("nonce", "x"), "no ID": with("jti", nil), "no time of issue": with("iat", nil),
		"issued long ago":      with("iat", time.Now().Add(-time.Hour).Unix()),
		"issued in the future": with("iat", time.Now().Add(time.Hour).Unix()), "expired": with("exp", time.Now().Add(-time.Hour).Unix()),
		"nobody":              with("sub", nil),
		"the client's secret": p.signWith(jose.HS256, []byte(clientSecret), "one", good),
		"an ID token":         p.sign(p.person("ann@example.com")),
	} {
		if status, text := post(token); status != 400 || !strings.Contains(text, `"invalid_request"`) {
			t.Errorf("%s: %d, %s", name, status, text)
		}
	}
	if !ann.signedIn() || !elsewhere.signedIn() || !bob.signedIn() {
		t.Fatal("a bad token has ended a session")
	}
	if status, text := post(p.sign(p.logout("", "another session"))); status != 200 || text != "" || elsewhere.signedIn() ||
		!ann.signedIn() {
		t.Errorf("one session: %d, %s", status, text)
	}
	if status, _ := post(p.sign(p.logout("bob", "session of ann"))); status != 200 || !ann.signedIn() || !bob.signedIn() {
		t.Errorf("a session of another person: %d", status)
	}
	all := p.sign(good)
	if status, _ := post(all); status != 200 || ann.signedIn() || !bob.signedIn() {
		t.Errorf("all sessions of a person: %d", status)
	}
	ann.signIn(p, p.person("ann@example.com"))
	if status, _ := post(all); status != 400 || !ann.signedIn() {
		t.Errorf("the token once more: %d", status)
	}
}

func TestPeopleProvider_OnlyAVerifiedEmailConnects(t *testing.T) {
	t.Parallel()
	p := newOpenID(t)
	s := p.at(harness.Flag("signup", "open"))
	const email = "ann@example.com"
	s.Command(t, "accounts", "create", email)
	s.SetPassword(t, email, "correct horse battery")
	byPassword := func() int {
		status, _, _ := newSurfer(t, s).open("POST", "/sign-in", url.Values{"email": {email}, "password": {"correct horse battery"}})
		return status
	}
	taker := p.person(email)
	taker["email_verified"] = false
	if status, _, _ := newSurfer(t, s).signIn(p, taker); status != 403 || byPassword() != 303 {
		t.Errorf("an unverified email: %d", status)
	}
	ann := newSurfer(t, s)
	if status, to, text := ann.signIn(p, p.person(email)); status != 303 || to != "/jobs" || !ann.signedIn() {
		t.Fatalf("a verified email: %d, %q, %s", status, to, text)
	}
	// Nobody has confirmed that whoever has set the password owns the email.
	if status := byPassword(); status != 401 {
		t.Errorf("the password from before: %d", status)
	}
	// The provider gives the address to somebody else.
	next := p.person(email)
	next["sub"] = "another"
	if status, _, text := newSurfer(t, s).signIn(p, next); status != 409 || !strings.Contains(text, "reset-sign-in") {
		t.Errorf("another subject: %d, %s", status, text)
	}
	if s.Command(t, "accounts", "reset-sign-in", email); ann.signedIn() {
		t.Error("a session of a forgotten identity goes on")
	}
	if status, _, _ := newSurfer(t, s).signIn(p, next); status != 303 {
		t.Errorf("the other afterwards: %d", status)
	}
	// The identity counts, not the email.
	moved := maps.Clone(next)
	moved["email"] = "ann.smith@example.com"
	if status, _, _ := newSurfer(t, s).signIn(p, moved); status != 303 {
		t.Errorf("a changed email: %d", status)
	}
	// Who has signed up with an address of somebody else must not get them as owner.
	if status, _, text := newSurfer(t, s).open("POST", "/sign-up",
		url.Values{"email": {"eve@example.com"}, "password": {"correct horse battery"}}); status != 200 {
		t.Fatalf("signing up: %d, %s", status, text)
	}
	if status, _, text := newSurfer(t, s).signIn(p, p.person("eve@example.com")); status != 409 ||
		!strings.Contains(text, "confirm-email") {
		t.Errorf("an email that was not confirmed: %d, %s", status, text)
	}
	s.Command(t, "accounts", "confirm-email", "eve@example.com")
	if status, _, _ := newSurfer(t, s).signIn(p, p.person("eve@example.com")); status != 303 {
		t.Errorf("a confirmed email: %d", status)
	}
}

func TestPeopleProvider_PasswordsCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	p := newOpenID(t)
	s := p.at(harness.Flag("password-sign-in", "false"))
	b := newSurfer(t, s)
	for _, path := range []string{"/sign-in", "/sign-up"} {
		if _, _, text := b.open("GET", path, nil); !strings.Contains(text, `href="/sign-in/provider"`) ||
			strings.Contains(text, `type="password"`) {
			t.Errorf("%s: %s", path, text)
		}
		if status, _, _ := b.open("POST", path, url.Values{"email": {"ann@example.com"},
			"password": {"correct horse battery"}}); status != 403 {
			t.Errorf("%s with a password: %d", path, status)
		}
	}
	if status, _, text := b.signIn(p, p.person("ann@example.com")); status != 303 {
		t.Fatalf("at the provider: %d, %s", status, text)
	}
	if _, _, text := b.open("GET", "/settings", nil); !strings.Contains(text, p.URL) || strings.Contains(text, `type="password"`) {
		t.Errorf("the settings: %s", text)
	}
	// The owner has just signed in, which is proof enough.
	if status, to, text := b.open("POST", "/settings/delete", nil); status != 303 || to != "/sign-in?done=deleted" {
		t.Errorf("deleting the account: %d, %s", status, text)
	}
}

func TestPeopleProvider_ServiceWorksWithoutIt(t *testing.T) {
	t.Parallel()
	p := newOpenID(t)
	p.Close()
	s := p.at()
	harness.Eventually(t, soon, "the log to say so",
		func() bool { return strings.Contains(s.Stderr(), "the sign-in provider can't be reached") })
	b := newSurfer(t, s)
	if status, _, text := b.open("GET", "/sign-in/provider", nil); status != 503 || !strings.Contains(text, "be reached") ||
		!strings.Contains(text, `type="password"`) {
		t.Errorf("at the provider: %d, %s", status, text)
	}
	if status, to, text := b.open("POST", "/sign-up",
		url.Values{"email": {"ann@example.com"}, "password": {"correct horse battery"}, "setup": {s.SetupCode(t)}}); status != 303 {
		t.Errorf("by password: %d, %q, %s", status, to, text)
	}
}
