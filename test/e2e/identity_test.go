package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const issuerURL = "https://punctual.example.com"

// toService sends requests for the issuer to the service under test.
type toService struct{ address string }

func (s toService) RoundTrip(r *http.Request) (*http.Response, error) {
	u, err := url.Parse(s.address)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Host, r.URL.Scheme, r.URL.Host = r.URL.Host, u.Scheme, u.Host
	return http.DefaultTransport.RoundTrip(r)
}

func bearerOf(h harness.Hit) string {
	token, _ := strings.CutPrefix(h.Header.Get("Authorization"), "Bearer ")
	return token
}

func TestIdentity_TokensVerifyAndStayWithTheTarget(t *testing.T) {
	t.Parallel()
	keyFile := newKeyFile(t)
	s := harness.Start(t, harness.Flag("public-url", issuerURL), harness.Flag("secrets-key-file", keyFile))
	a := s.Account(t)
	ctx := oidc.ClientContext(t.Context(), &http.Client{Transport: toService{s.URL()}})
	provider, err := oidc.NewProvider(ctx, issuerURL)
	if err != nil {
		t.Fatal(err)
	}
	verifier := provider.VerifierContext(ctx, &oidc.Config{ClientID: "https://api.example.com", SupportedSigningAlgs: []string{oidc.ES256}})
	other := harness.NewTarget(t).Route(t)
	var attempts atomic.Int64
	target := harness.SharedTarget(t).Route(t).Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if attempts.Add(1) > 1 {
			harness.Redirect(http.StatusTemporaryRedirect, other.URL).ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("you are " + r.Header.Get("Authorization")))
	}))
	job := create(a.Client, `{"method":"post","body":{"a":1},"url":"`+target.URL+
		`","retries":1,"backoff":[1],"auth":{"oidc":{"audience":"https://api.example.com"}}}`)
	hits := target.Await(t, 2, soon)
	var seen []string
	for _, h := range hits {
		token, err := verifier.Verify(ctx, bearerOf(h))
		if err != nil {
			t.Fatal(err)
		}
		var claims struct {
			ID string `json:"jti"`
		}
		if err := token.Claims(&claims); err != nil || token.Subject != "account:"+a.ID || claims.ID != h.Header.Get("Webhook-Id") {
			t.Errorf("%+v, %+v, %v", token, claims, err)
		}
		seen = append(seen, bearerOf(h))
	}
	if seen[0] == seen[1] {
		t.Error("two attempts have the same token")
	}
	if led := other.Await(t, 1, soon)[0]; led.Header.Get("Authorization") != "" || led.Header.Get("Webhook-Signature") != "" {
		t.Errorf("the other origin got %v", led.Header)
	}
	awaitState(t, a.Client, job, "completed")
	shown := string(a.Get("/api/logs?limit=100").Want(200).Body) + string(a.Get("/api/jobs/"+job.Get("job_id").Raw()).Want(200).Body)
	for _, token := range seen {
		if strings.Contains(shown, token) || strings.Contains(shown, token[len(token)-40:]) {
			t.Error("a token is shown")
		}
	}
	if !strings.Contains(shown, "you are Bearer ***") {
		t.Errorf("the response is not shown masked: %s", shown)
	}
	// After a rotation both keys are published, and the old one signs at first.
	s.Command(t, "issuer", "rotate", "--secrets-key-file", keyFile)
	harness.Eventually(t, soon, "both keys to be published", func() bool { return len(publishedKeys(t, s)) == 2 })
}

// publishedKeys returns the keys that verify tokens.
func publishedKeys(t *testing.T, s *harness.Service) []map[string]string {
	t.Helper()
	var set struct{ Keys []map[string]string }
	response, err := (&http.Client{Transport: toService{s.URL()}}).Get(issuerURL + "/.well-known/jwks.json")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&set); err != nil {
		t.Fatal(err)
	}
	for _, k := range set.Keys {
		if k["d"] != "" || k["kty"] != "EC" || k["kid"] == "" {
			t.Errorf("a key is published as %v", k)
		}
	}
	return set.Keys
}

// clientCertificate returns a certificate that signs itself, and its key, in PEM.
func clientCertificate(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// TestIdentity_CertificatesBelongToTheirRequests: over a connection on which a
// certificate was presented goes no request without it, and none with another one.
func TestIdentity_CertificatesBelongToTheirRequests(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t)
	var mu sync.Mutex
	peers := map[string]string{}
	target := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		peers[r.URL.Path] = r.TLS.PeerCertificates[0].Subject.CommonName
	}))
	target.TLS = harness.TLSConfig(t)
	target.TLS.ClientAuth = tls.RequireAnyClientCert
	target.StartTLS()
	defer target.Close()
	for _, name := range []string{"one", "two"} {
		certificate, key := clientCertificate(t, name)
		body, err := json.Marshal(map[string]any{"certificate": certificate, "private_key": key, "hosts": []string{"127.0.0.1"}})
		if err != nil {
			t.Fatal(err)
		}
		a.Do(http.MethodPut, "/api/secrets/"+name, string(body)).Want(201)
	}
	for _, x := range [][3]string{{"/1", `,"auth":{"mtls":"one"}`, "completed"}, {"/2", "", "discarded"},
		{"/3", `,"auth":{"mtls":"two"}`, "completed"}, {"/4", "", "discarded"}, {"/5", `,"auth":{"mtls":"one"}`, "completed"}} {
		awaitState(t, a.Client, create(a.Client, `{"url":"`+target.URL+x[0]+`","retries":0`+x[1]+`}`), x[2])
	}
	mu.Lock()
	defer mu.Unlock()
	if len(peers) != 3 || peers["/1"] != "one" || peers["/3"] != "two" || peers["/5"] != "one" {
		t.Errorf("the target saw %v", peers)
	}
	a.Do(http.MethodDelete, "/api/secrets/one", nil).Want(204)
}
