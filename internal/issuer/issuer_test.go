package issuer

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
)

// shelf keeps keys as a store does.
type shelf struct {
	mu   sync.Mutex
	keys []identity.SigningKey
	now  time.Time
}

func (s *shelf) SigningKeys(context.Context, int64) ([]identity.SigningKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []identity.SigningKey
	for _, k := range s.keys {
		if k.EndsAt.IsZero() || k.EndsAt.After(s.now) {
			found = append(found, k)
		}
	}
	slices.Reverse(found)
	return found, nil
}

func (s *shelf) SigningKeyAdd(_ context.Context, k *identity.SigningKey, othersEnd time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.keys {
		if s.keys[i].Number == k.Number {
			return false, nil
		}
	}
	for i := range s.keys {
		if other := &s.keys[i]; !othersEnd.IsZero() && (other.EndsAt.IsZero() || other.EndsAt.After(othersEnd)) {
			other.EndsAt = othersEnd
		}
	}
	s.keys = append(s.keys, *k)
	return true, nil
}

func (s *shelf) at(t time.Time) { s.mu.Lock(); s.now = t; s.mu.Unlock() }

func (s *shelf) clock() time.Time { s.mu.Lock(); defer s.mu.Unlock(); return s.now }

// newIssuer returns an issuer that serves its documents, and a verifier by go-oidc.
func newIssuer(t *testing.T) (*shelf, *Issuer, func() *oidc.IDTokenVerifier) {
	t.Helper()
	s := &shelf{now: time.Now()}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i, err := Open(t.Context(), Config{Keys: s, URL: server.URL, Now: s.clock, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(path string, document func() ([]byte, error)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			text, err := document()
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text)
		})
	}
	serve(DiscoveryPath, i.Discovery)
	serve(KeysPath, func() ([]byte, error) { return i.JWKS(t.Context()) })
	return s, i, func() *oidc.IDTokenVerifier {
		provider, err := oidc.NewProvider(t.Context(), server.URL)
		if err != nil {
			t.Fatal(err)
		}
		return provider.Verifier(&oidc.Config{ClientID: "https://api.example.com", SupportedSigningAlgs: []string{oidc.ES256}})
	}
}

var spoken = Claims{Account: uuid.New(), Audience: "https://api.example.com", ID: "job_1", Job: 17, Timeout: 10 * time.Second}

func TestToken_VerifiesWithAnOpenIDLibrary(t *testing.T) {
	_, i, verifier := newIssuer(t)
	text, err := i.Token(spoken)
	if err != nil {
		t.Fatal(err)
	}
	token, err := verifier().Verify(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := token.Claims(&all); err != nil {
		t.Fatal(err)
	}
	if token.Subject != "account:"+spoken.Account.String() || token.Expiry.Sub(token.IssuedAt) != 310*time.Second ||
		all["jti"] != "job_1" || all["job_id"] != 17.0 {
		t.Errorf("the claims are %v", all)
	}
	if len(all) != 7 {
		t.Errorf("there are other claims: %v", all)
	}
	long := spoken
	long.Timeout, long.Schedule, long.Email = 2*time.Hour, uuid.New(), "robot@example.com"
	if text, err = i.Token(long); err != nil {
		t.Fatal(err)
	}
	if token, err = verifier().Verify(t.Context(), text); err != nil || token.Expiry.Sub(token.IssuedAt) != time.Hour {
		t.Errorf("%+v, %v", token, err)
	}
}

// TestRotate_NoVerifierNeedsAKeyBeforeItIsPublished: a verifier that has read the keys
// before a rotation verifies tokens until it reads them again.
func TestRotate_NoVerifierNeedsAKeyBeforeItIsPublished(t *testing.T) {
	s, i, verifier := newIssuer(t)
	start := s.clock()
	first, err := i.Token(spoken)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Rotate(t.Context(), s, start, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		after time.Duration
		keys  int
		fresh bool // the new key signs
	}{{0, 2, false}, {Ahead - time.Second, 2, false}, {Ahead, 2, true}, {Ahead + Published - time.Second, 2, true},
		{Ahead + Published, 1, true}} {
		s.at(start.Add(x.after))
		if err := i.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		var set struct{ Keys []json.RawMessage }
		text, err := i.JWKS(t.Context())
		if err != nil || json.Unmarshal(text, &set) != nil || len(set.Keys) != x.keys {
			t.Errorf("after %s: %s, %v", x.after, text, err)
		}
		k, _ := i.signing()
		if (k.id == r.KeyID) != x.fresh {
			t.Errorf("after %s the key %s signs", x.after, k.id)
		}
		now, err := i.Token(spoken)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verifier().Verify(t.Context(), now); err != nil {
			t.Errorf("after %s: %v", x.after, err)
		}
		if _, err := verifier().Verify(t.Context(), first); (err == nil) != (x.keys == 2) {
			t.Errorf("the old token after %s: %v", x.after, err)
		}
	}
}

func TestRotate_CompromisedKeysAreGoneAtOnce(t *testing.T) {
	s, i, verifier := newIssuer(t)
	old, err := i.Token(spoken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Rotate(t.Context(), s, s.clock(), true); err != nil {
		t.Fatal(err)
	}
	if err := i.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := verifier().Verify(t.Context(), old); err == nil {
		t.Error("a token by the old key is accepted")
	}
	text, err := i.Token(spoken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verifier().Verify(t.Context(), text); err != nil {
		t.Error(err)
	}
}

func TestOpen_NodesThatStartTogetherShareAKey(t *testing.T) {
	s := &shelf{now: time.Now()}
	var all sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]int{}
	for range 8 {
		all.Go(func() {
			i, err := Open(context.Background(), Config{Keys: s, URL: "https://x.example", Now: s.clock,
				Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Error(err)
				return
			}
			k, _ := i.signing()
			mu.Lock()
			defer mu.Unlock()
			ids[k.id]++
		})
	}
	all.Wait()
	if len(ids) != 1 {
		t.Errorf("the nodes use the keys %v", ids)
	}
}

func BenchmarkToken(b *testing.B) {
	s := &shelf{now: time.Now()}
	i, err := Open(b.Context(), Config{Keys: s, URL: "https://x.example", Now: s.clock, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := i.Token(spoken); err != nil {
			b.Fatal(err)
		}
	}
}
