package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const (
	clientID     = "punctual"
	clientSecret = "the secret of the client, of more than 32 bytes"
)

// openID is an OpenID provider that also does what providers must not do.
type openID struct {
	testing.TB
	*httptest.Server
	mu    sync.Mutex
	key   *ecdsa.PrivateKey
	codes map[string]*grant
	// forge makes an ID token from its claims; nil signs them.
	forge func(claims map[string]any) string
	// reuse accepts codes more than once.
	reuse bool
}

// grant is what a code stands for.
type grant struct {
	claims    map[string]any
	challenge string
	redirect  string
}

func newOpenID(t testing.TB) *openID {
	t.Helper()
	p := &openID{TB: t, codes: map[string]*grant{}}
	var err error
	if p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		write(w, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"jwks_uri":                                       p.URL + "/keys",
			"id_token_signing_alg_values_supported":          []string{"ES256", "HS256", "none"},
			"authorization_response_iss_parameter_supported": true,
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "one", Algorithm: "ES256", Use: "sig"}}})
	})
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *openID) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	secret, _ = url.QueryUnescape(secret)
	code := r.PostFormValue("code")
	g := p.codes[code]
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case id != clientID || secret != clientSecret:
		w.WriteHeader(http.StatusUnauthorized)
		write(w, map[string]any{"error": "invalid_client"})
		return
	case g == nil, g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]), g.redirect != r.PostFormValue("redirect_uri"):
		w.WriteHeader(http.StatusBadRequest)
		write(w, map[string]any{"error": "invalid_grant"})
		return
	}
	if !p.reuse {
		delete(p.codes, code)
	}
	forge := p.forge
	if forge == nil {
		forge = p.sign
	}
	write(w, map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 60, "id_token": forge(g.claims)})
}

// sign signs claims with the provider's key.
func (p *openID) sign(claims map[string]any) string {
	return p.signWith(jose.ES256, p.key, "one", claims)
}

func (p *openID) signWith(algorithm jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		p.Fatal(err)
	}
	payload, _ := json.Marshal(claims)
	signed, err := signer.Sign(payload)
	if err != nil {
		p.Fatal(err)
	}
	text, _ := signed.CompactSerialize()
	return text
}

// person returns the claims of a person. The subject is the name of the email.
func (p *openID) person(email string) map[string]any {
	subject, _, _ := strings.Cut(email, "@")
	return map[string]any{
		"iss": p.URL, "sub": subject, "aud": clientID, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
		"email": email, "email_verified": true, "sid": "session of " + subject,
	}
}

// logout returns the claims of a logout token.
func (p *openID) logout(subject, sid string) map[string]any {
	claims := map[string]any{
		"iss": p.URL, "aud": clientID, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(), "jti": rand.Text(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}
	if subject != "" {
		claims["sub"] = subject
	}
	if sid != "" {
		claims["sid"] = sid
	}
	return claims
}

// at starts a service whose people sign in at the provider.
func (p *openID) at(options ...harness.Option) *harness.Service {
	p.Helper()
	file := filepath.Join(p.TempDir(), "client.secret")
	if err := os.WriteFile(file, []byte(clientSecret+"\n"), 0o600); err != nil {
		p.Fatal(err)
	}
	return harness.Start(p, append([]harness.Option{
		harness.Flag("oidc-issuer", p.URL), harness.Flag("oidc-client-id", clientID), harness.Flag("oidc-client-secret-file", file),
	}, options...)...)
}

// surfer is a browser: it keeps cookies, and follows nothing.
type surfer struct {
	testing.TB
	http.Client
	base string
}

func newSurfer(t testing.TB, s *harness.Service) *surfer {
	jar, _ := cookiejar.New(nil)
	return &surfer{t, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		s.URL()}
}

// open returns the status of a page, where it redirects to, and its text.
func (b *surfer) open(method, path string, form url.Values) (status int, to, text string) {
	b.Helper()
	request, err := http.NewRequest(method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", b.base)
	}
	response, err := b.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Location"), string(body)
}

// begin goes to the provider and returns the parameters that the service sends it.
func (b *surfer) begin(to string) url.Values {
	b.Helper()
	status, address, text := b.open("GET", "/sign-in/provider?to="+url.QueryEscape(to), nil)
	u, err := url.Parse(address)
	if status != 303 || err != nil {
		b.Fatalf("going to the provider: %d, %q, %s", status, address, text)
	}
	return u.Query()
}

// back returns the path that the provider sends the browser back to, with a code for
// claims.
func (p *openID) back(sent url.Values, claims map[string]any) string {
	code, claims := rand.Text(), maps.Clone(claims)
	if claims["nonce"] == nil {
		claims["nonce"] = sent.Get("nonce")
	}
	p.mu.Lock()
	p.codes[code] = &grant{claims, sent.Get("code_challenge"), sent.Get("redirect_uri")}
	p.mu.Unlock()
	return "/sign-in/callback?" + url.Values{"code": {code}, "state": {sent.Get("state")}, "iss": {p.URL}}.Encode()
}

// signIn signs a person in at the provider and returns what the service answers.
func (b *surfer) signIn(p *openID, claims map[string]any) (status int, to, text string) {
	b.Helper()
	return b.open("GET", p.back(b.begin("/jobs"), claims), nil)
}

// signedIn reports whether the browser has a session.
func (b *surfer) signedIn() bool {
	b.Helper()
	status, _, _ := b.open("GET", "/settings", nil)
	return status == 200
}
