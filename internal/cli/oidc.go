package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/oidc"
)

// signInFlags are the flags of serve for how people sign in.
type signInFlags struct {
	OIDCIssuer           issuerURL   `name:"oidc-issuer" setting:"" placeholder:"URL" help:"The OpenID provider that people sign in at, as in https://login.example.com: its issuer. Default: people sign in by passwords only."`
	OIDCClientID         string      `name:"oidc-client-id" setting:"" placeholder:"ID" help:"The ID of this service at the provider. The provider sends people back to /sign-in/callback."`
	OIDCClientSecretFile string      `name:"oidc-client-secret-file" setting:"" placeholder:"FILE" help:"A file with the secret of --oidc-client-id. Default: none, for a public client."`
	OIDCAllowedDomains   mailDomains `name:"oidc-allowed-domains" setting:"" placeholder:"DOMAINS" help:"Domains whose email addresses may sign in at the provider, separated by commas. Default: all."`
	OIDCRoleClaim        string      `name:"oidc-role-claim" setting:"" placeholder:"CLAIM" help:"The provider's claim that decides on the role in the account of --oidc-account, at each sign-in; dots lead into nested claims. Who gets no role can't sign in."`
	OIDCRoles            roleMap     `name:"oidc-roles" setting:"" placeholder:"MAP" help:"Roles by value of --oidc-role-claim, as in admins=admin,dev=editor; * stands for everyone, and the highest role counts. Default: the claim's values are the names of the roles; without a claim, everyone is a viewer."`
	OIDCAccount          string      `name:"oidc-account" setting:"" placeholder:"WHICH" help:"The account that people join when they first sign in at the provider: its email, first (the oldest account), or own (they get an account of their own, as --signup permits). Default: first with --oidc-allowed-domains or --oidc-role-claim, else own."`
	PasswordSignIn       bool        `name:"password-sign-in" setting:"" type:"switch" default:"true" help:"Whether people can sign up and sign in by a password; false leaves the provider only."`
	SessionMaxAge        maxAge      `name:"session-max-age" setting:"" default:"90d" placeholder:"PERIOD" help:"The longest that anyone stays signed in, as in 12h or 7d."`
}

// check reports flags that need each other.
func (f *signInFlags) check() error {
	more := f.OIDCClientID != "" || f.OIDCClientSecretFile != "" || f.OIDCAllowedDomains != nil || f.OIDCRoleClaim != "" ||
		f.OIDCRoles != nil || f.OIDCAccount != ""
	switch {
	case f.OIDCIssuer == "" && more:
		return errors.New("the settings of the sign-in provider need --oidc-issuer; give its URL")
	case f.OIDCIssuer == "" && !f.PasswordSignIn:
		return errors.New("--password-sign-in=false leaves nobody a way to sign in; give --oidc-issuer too")
	case f.OIDCIssuer != "" && f.OIDCClientID == "":
		return errors.New("--oidc-issuer needs --oidc-client-id: register this service at the provider and give the ID that it gets there")
	}
	return nil
}

// maxSecret is how many bytes of a client's secret are read.
const maxSecret = 4 << 10

// provider sets the provider that people sign in at, if there is one.
func (f *signInFlags) provider(c *app.Config) error {
	c.NoPasswords, c.SessionMaxAge = !f.PasswordSignIn, time.Duration(f.SessionMaxAge)
	if f.OIDCIssuer == "" {
		return nil
	}
	c.OIDC = &oidc.Config{Issuer: string(f.OIDCIssuer), ClientID: f.OIDCClientID, RoleClaim: f.OIDCRoleClaim}
	c.Provider = &auth.ProviderPolicy{
		Issuer: string(f.OIDCIssuer), Domains: f.OIDCAllowedDomains, Roles: f.OIDCRoles, ByClaim: f.OIDCRoleClaim != "",
		Join: f.OIDCAccount,
	}
	if f.OIDCRoles == nil {
		c.Provider.Roles = auth.DefaultRoles(f.OIDCRoleClaim != "")
	}
	if f.OIDCAccount == "" {
		c.Provider.Join = auth.JoinNone
		if f.OIDCAllowedDomains != nil || f.OIDCRoleClaim != "" {
			c.Provider.Join = auth.JoinFirst
		}
	}
	if f.OIDCClientSecretFile == "" {
		return nil
	}
	file, err := os.Open(f.OIDCClientSecretFile)
	if err != nil {
		return fmt.Errorf("--oidc-client-secret-file can't be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil {
		return fmt.Errorf("--oidc-client-secret-file can't be read: %w", err)
	}
	if c.OIDC.Secret = strings.TrimSpace(string(text)); c.OIDC.Secret == "" || len(text) > maxSecret {
		return fmt.Errorf("--oidc-client-secret-file %s must have a secret of at most %d bytes in it, and nothing else",
			f.OIDCClientSecretFile, maxSecret)
	}
	return nil
}

// issuerURL is the issuer of an OpenID provider.
type issuerURL string

// Decode implements kong.MapperValue.
func (i *issuerURL) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	if why := oidc.CheckIssuer(text); why != "" {
		return fmt.Errorf("%s, not %q", why, text)
	}
	*i = issuerURL(text)
	return nil
}

// roleMap has roles by the value of a claim.
type roleMap map[string]identity.Role

// Decode implements kong.MapperValue.
func (m *roleMap) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	*m = roleMap{}
	for pair := range strings.SplitSeq(text, ",") {
		cut := strings.LastIndex(pair, "=")
		if cut < 1 || !slices.Contains(identity.Roles, identity.Role(strings.TrimSpace(pair[cut+1:]))) {
			return fmt.Errorf("must be pairs like admins=admin, separated by commas, with the roles viewer, editor, admin and owner; %q is none", pair)
		}
		(*m)[strings.TrimSpace(pair[:cut])] = identity.Role(strings.TrimSpace(pair[cut+1:]))
	}
	return nil
}

// maxAge is how long a session may last.
type maxAge time.Duration

// Decode implements kong.MapperValue.
func (a *maxAge) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	value, err := parsePeriod(text)
	if err != nil || value <= 0 || value > maxSession {
		return fmt.Errorf("must be a period like 12h or 7d, at most 365d, not %q", text)
	}
	*a = maxAge(value)
	return nil
}

// maxSession is the longest that a session may last.
const maxSession = 365 * 24 * time.Hour
