package oidc

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	coreos "github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/pause"
)

const (
	// CallbackPath is the path of the page that the provider sends browsers back to.
	CallbackPath = "/sign-in/callback"
	// LogoutPath is the path that the provider posts logout tokens to.
	LogoutPath = "/sign-in/backchannel-logout"
)

const (
	// skew is how much the provider's clock may differ from ours.
	skew = time.Minute
	// metadataFor is how long the result of a discovery is used.
	metadataFor = time.Hour
)

// Config configures a Provider.
type Config struct {
	// Issuer is the provider's issuer, the URL below which it is discovered.
	Issuer   string
	ClientID string
	// Secret authenticates the client; "" for a public client, which has PKCE only.
	Secret string
	// RoleClaim names the claim that roles derive from; "" for none. Dots separate the
	// names of nested claims, unless a claim has the whole name.
	RoleClaim string
	Roots     *x509.CertPool // trusted beside the system's; nil for the system's
	Now       func() time.Time
	Log       *slog.Logger
}

// Provider is an OpenID provider.
type Provider struct {
	Config
	client   *http.Client
	metadata cached[*metadata]
	keys     cached[[]jose.JSONWebKey]
	// underWay has a place for each sign-in that is being finished.
	underWay chan struct{}
}

// maxUnderWay is how many sign-ins are finished at once.
const maxUnderWay = 32

// metadata is what a discovery found (OpenID Connect Discovery 1.0, section 3).
type metadata struct {
	provider   *coreos.Provider
	endpoint   oauth2.Endpoint
	keysAt     string
	algorithms []string
	// sendsIssuer: a response names its issuer (RFC 9207).
	sendsIssuer bool
	hasUserInfo bool
}

// New returns a Provider. It makes no request yet.
func New(config Config) *Provider {
	p := &Provider{Config: config, client: newClient(config.Roots), underWay: make(chan struct{}, maxUnderWay)}
	p.metadata = cached[*metadata]{now: config.Now, fetch: p.discover}
	p.keys = cached[[]jose.JSONWebKey]{now: config.Now, fetch: func(ctx context.Context) ([]jose.JSONWebKey, error) {
		m, err := p.metadata.get(ctx, metadataFor)
		if err != nil {
			return nil, err
		}
		return fetchKeys(ctx, p.client, m.keysAt)
	}}
	return p
}

// CheckIssuer returns what is wrong with a URL as an issuer; "" if nothing is. Only a
// provider on the same machine may be reached without encryption.
func CheckIssuer(issuer string) string {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "must be a URL without user, query and fragment, as in https://login.example.com"
	case !secure(u):
		return "must use https; http is only for a provider on this machine"
	}
	return ""
}

// secure reports whether requests to an address are encrypted or stay on this machine.
func secure(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname())
}

// discover fetches the provider's metadata.
func (p *Provider) discover(ctx context.Context) (*metadata, error) {
	provider, err := coreos.NewProvider(coreos.ClientContext(ctx, p.client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discovering the provider: %w", err)
	}
	var found struct {
		Authorization string   `json:"authorization_endpoint"`
		Token         string   `json:"token_endpoint"`
		Keys          string   `json:"jwks_uri"`
		UserInfo      string   `json:"userinfo_endpoint"`
		Algorithms    []string `json:"id_token_signing_alg_values_supported"`
		Methods       []string `json:"token_endpoint_auth_methods_supported"`
		SendsIssuer   bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&found); err != nil {
		return nil, fmt.Errorf("reading the provider's metadata: %w", err)
	}
	for name, address := range map[string]string{"authorization_endpoint": found.Authorization, "token_endpoint": found.Token,
		"jwks_uri": found.Keys} {
		if u, err := url.Parse(address); err != nil || u.Host == "" || !secure(u) {
			return nil, fmt.Errorf("the provider's metadata has no %s with https", name)
		}
	}
	m := &metadata{
		provider: provider, keysAt: found.Keys, sendsIssuer: found.SendsIssuer, hasUserInfo: found.UserInfo != "",
		endpoint: oauth2.Endpoint{AuthURL: found.Authorization, TokenURL: found.Token, AuthStyle: oauth2.AuthStyleInHeader},
	}
	if p.Secret == "" || !slices.Contains(found.Methods, "client_secret_basic") && slices.Contains(found.Methods, "client_secret_post") {
		m.endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	for _, a := range algorithms {
		if slices.Contains(found.Algorithms, string(a)) {
			m.algorithms = append(m.algorithms, string(a))
		}
	}
	return m, nil
}

// read returns the provider's metadata, or an Unavailable fault.
func (p *Provider) read(ctx context.Context) (*metadata, error) {
	m, err := p.metadata.get(ctx, metadataFor)
	if err != nil {
		return nil, unreachable(err)
	}
	return m, nil
}

// unreachable returns the fault for a request to the provider that failed.
func unreachable(err error) error {
	return &fault.Error{
		Code: fault.Unavailable, Message: "the sign-in provider can't be reached; try again in a moment", RetryAfter: fetchPause, Cause: err,
	}
}

// Run logs whether the provider can be reached, until it was or ctx ends. The service
// works without it, but for sign-ins.
func (p *Provider) Run(ctx context.Context) {
	failed := false
	for ctx.Err() == nil {
		_, err := p.metadata.get(ctx, metadataFor)
		if err == nil {
			p.Log.Info("people can sign in at the provider", "issuer", p.Issuer)
			return
		}
		if !failed && ctx.Err() == nil {
			p.Log.Warn("the sign-in provider can't be reached; sign-ins there fail until it can be", "issuer", p.Issuer, "error", err)
		}
		failed = true
		pause.For(ctx, fetchPause)
	}
}

// verifier returns what verifies one token of the provider, and the keys that it looks at.
// Its clock is slow by the skew.
func (p *Provider) verifier(m *metadata) (*coreos.IDTokenVerifier, *keySet) {
	keys := &keySet{keys: &p.keys}
	return coreos.NewVerifier(p.Issuer, keys, &coreos.Config{
		ClientID: p.ClientID, SupportedSigningAlgs: m.algorithms, Now: func() time.Time { return p.Now().Add(-skew) },
	}), keys
}

// oauth returns the OAuth client whose browsers return to an origin of this service.
func (p *Provider) oauth(m *metadata, origin string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.Secret, Endpoint: m.endpoint, RedirectURL: origin + CallbackPath,
		Scopes: []string{coreos.ScopeOpenID, "email", "profile"},
	}
}
