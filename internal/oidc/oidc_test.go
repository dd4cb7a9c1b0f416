package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/punctual-dev/punctual/internal/fault"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that tests move.
type clock struct{ passed atomic.Int64 }

func (c *clock) now() time.Time       { return began.Add(time.Duration(c.passed.Load())) }
func (c *clock) pass(d time.Duration) { c.passed.Add(int64(d)) }

func TestCached_OneFetchForAll(t *testing.T) {
	t.Parallel()
	var c clock
	var fetched atomic.Int64
	release := make(chan struct{})
	v := &cached[int64]{now: c.now, fetch: func(context.Context) (int64, error) {
		<-release
		return fetched.Add(1), nil
	}}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := v.get(t.Context(), time.Hour); got != 1 || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.get(gone, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone gets %v", err)
	}
	close(release)
	all.Wait()
	// Whoever asks for a newer one waits until the pause is over.
	if got, _ := v.get(t.Context(), 0); got != 1 {
		t.Errorf("within the pause it is %d", got)
	}
	c.pass(fetchPause)
	if got, _ := v.get(t.Context(), 0); got != 2 {
		t.Errorf("after the pause it is %d", got)
	}
}

func TestCached_KeepsTheValueWhileTheProviderIsDown(t *testing.T) {
	t.Parallel()
	var c clock
	down, tries := errors.New("down"), 0
	var err error = down
	v := &cached[string]{now: c.now, fetch: func(context.Context) (string, error) { tries++; return "value", err }}
	want := func(wanted string, wantedErr error, wantedTries int) {
		t.Helper()
		if got, err := v.get(t.Context(), time.Minute); got != wanted || !errors.Is(err, wantedErr) || tries != wantedTries {
			t.Errorf("got %q, %v after %d tries; want %q, %v, %d", got, err, tries, wanted, wantedErr, wantedTries)
		}
	}
	want("", down, 1)
	want("", down, 1) // a failure is remembered
	c.pass(fetchPause)
	err = nil
	want("value", nil, 2)
	err = down
	c.pass(time.Hour)
	want("value", nil, 3)
	want("value", nil, 3)
	c.pass(staleMax)
	want("", down, 4)
}

// fake is a provider with keys that tests change.
type fake struct {
	*httptest.Server
	clock
	mu      sync.Mutex
	keys    []jose.JSONWebKey
	private *ecdsa.PrivateKey
	fetched atomic.Int64
	more    string // of the metadata
	broken  func(w http.ResponseWriter, r *http.Request) bool
}

func newFake(t *testing.T) (*fake, *Provider) {
	t.Helper()
	t.Parallel()
	f := &fake{}
	f.rotate(t, "one")
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		f.mu.Lock()
		defer f.mu.Unlock()
		switch {
		case f.broken != nil && f.broken(w, r):
		case r.URL.Path == "/.well-known/openid-configuration":
			_, _ = fmt.Fprintf(w, `{"issuer": %q, "authorization_endpoint": %q, "token_endpoint": %q, "jwks_uri": %q, "id_token_signing_alg_values_supported": ["ES256"]%s}`,
				f.URL, f.URL+"/authorize", f.URL+"/token", f.URL+"/keys", f.more)
		case r.URL.Path == "/keys":
			f.fetched.Add(1)
			_ = json.NewEncoder(w).Encode(map[string]any{"keys": append([]any{map[string]any{"kty": "unknown"}}, anyOf(f.keys)...)})
		}
	}))
	t.Cleanup(f.Close)
	return f, New(Config{Issuer: f.URL, ClientID: "me", Now: f.now, Log: slog.New(slog.DiscardHandler)})
}

func anyOf(keys []jose.JSONWebKey) (all []any) {
	for _, k := range keys {
		all = append(all, k)
	}
	return all
}

// rotate replaces the provider's key.
func (f *fake) rotate(t *testing.T, id string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.private, f.keys = key, []jose.JSONWebKey{{Key: key.Public(), KeyID: id, Use: "sig", Algorithm: "ES256"}}
}

// logout returns a logout token, signed by the current key.
func (f *fake) logout(t *testing.T, id string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: f.private, KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, _ := json.Marshal(map[string]any{
		"iss": f.URL, "aud": []string{"me"}, "iat": f.now().Unix(), "exp": f.now().Add(time.Minute).Unix(), "jti": id, "sub": "ann",
		"events": map[string]any{logoutEvent: map[string]any{}},
	})
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := signed.CompactSerialize()
	return text
}

func TestProvider_FollowsRotationsAndBoundsRequestsForKeys(t *testing.T) {
	f, p := newFake(t)
	valid := func(token string) bool {
		l, err := p.Logout(t.Context(), token)
		return err == nil && l.Subject == "ann"
	}
	old := f.logout(t, "one")
	first := valid(old)
	if again := valid(old); !first || !again || f.fetched.Load() != 1 {
		t.Fatalf("the first key was fetched %d times", f.fetched.Load())
	}
	f.rotate(t, "two")
	for i := range 50 {
		// It may be valid, so the provider is told to send it again, also if it names no key.
		if _, err := p.Logout(t.Context(), f.logout(t, []string{"two", ""}[i%2])); fault.CodeOf(err) != fault.Unavailable {
			t.Fatalf("a new key within the pause: %v", err)
		}
	}
	if f.fetched.Load() != 1 {
		t.Errorf("tokens of unknown keys fetched the keys %d times", f.fetched.Load())
	}
	f.pass(fetchPause)
	if !valid(f.logout(t, "two")) || f.fetched.Load() != 2 {
		t.Errorf("the new key: fetched %d times", f.fetched.Load())
	}
	if valid(old) {
		t.Error("the key that was withdrawn is accepted")
	}
	f.pass(fetchPause)
	if _, err := p.Logout(t.Context(), old); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("a key that the provider doesn't publish: %v", err)
	}
	// The clock of the provider may differ.
	early := f.logout(t, "two")
	f.pass(2 * time.Minute)
	if !valid(early) {
		t.Error("a token that has expired within the skew is refused")
	}
	f.pass(time.Second)
	if valid(early) {
		t.Error("an expired token is accepted")
	}
}

func TestProvider_BadProvidersAreBounded(t *testing.T) {
	for name, broken := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"endless": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`{"issuer": "` + strings.Repeat("x", 2<<20)))
			return true
		},
		"redirects forever": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return true
		},
		"redirects elsewhere": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://other.example"+r.URL.Path, http.StatusFound)
			return true
		},
		"an error": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true },
		"another issuer": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`{"issuer": "https://other.example"}`))
			return true
		},
		"no endpoints": func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = fmt.Fprintf(w, `{"issuer": "http://%s", "authorization_endpoint": "javascript:alert(1)"}`, r.Host)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, p := newFake(t)
			f.broken = broken
			if _, _, err := p.Begin(t.Context(), "https://punctual.example"); fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

func TestProvider_UnreachableKeysRefuseNoToken(t *testing.T) {
	f, p := newFake(t)
	f.broken = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/keys" {
			w.WriteHeader(http.StatusBadGateway)
		}
		return r.URL.Path == "/keys"
	}
	token := f.logout(t, "one")
	if _, err := p.Logout(t.Context(), token); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a valid token: %v", err)
	}
	if _, err := p.Logout(t.Context(), "no token"); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("no token: %v", err)
	}
	f.mu.Lock()
	f.broken = nil
	f.mu.Unlock()
	f.pass(fetchPause)
	if _, err := p.Logout(t.Context(), token); err != nil {
		t.Errorf("the same token, sent again: %v", err)
	}
}

func TestCheckIssuer(t *testing.T) {
	t.Parallel()
	for issuer, good := range map[string]bool{
		"https://login.example": true, "https://login.example/realms/x": true, "http://127.0.0.1:8080": true,
		"http://localhost:8080/x": true, "http://[::1]:8080": true,
		"http://login.example": false, "login.example": false, "https://": false, "https://u@login.example": false,
		"https://login.example?x": false, "ftp://127.0.0.1": false, "": false,
	} {
		if (CheckIssuer(issuer) == "") != good {
			t.Errorf("%q: %q", issuer, CheckIssuer(issuer))
		}
	}
}

func TestValues_OfNestedClaims(t *testing.T) {
	t.Parallel()
	var all map[string]any
	if err := json.Unmarshal([]byte(`{"groups": ["a", 5, "b"], "role": "admin", "https://x.example/roles": ["c"], "realm_access": {"roles": ["d"]}, "none": [], "number": 5}`), &all); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"groups": "[a b]", "role": "[admin]", "https://x.example/roles": "[c]", "realm_access.roles": "[d]", "none": "[]", "number": "[]",
		"other": "<nil>", "role.x": "<nil>", "realm_access.x": "<nil>", "": "<nil>",
	} {
		got := fmt.Sprint(values(all, name))
		if values(all, name) == nil {
			got = "<nil>"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func FuzzVerifySignature(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("eyJhbGciOiJFUzI1NiIsImtpZCI6Im9uZSJ9.e30.AAAA")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	keys := &keySet{keys: &cached[[]jose.JSONWebKey]{now: time.Now, fetch: func(context.Context) ([]jose.JSONWebKey, error) {
		return []jose.JSONWebKey{{Key: key.Public(), KeyID: "one"}}, nil
	}}}
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := keys.VerifySignature(t.Context(), token); err == nil {
			t.Errorf("%q is taken for signed", token)
		}
	})
}
