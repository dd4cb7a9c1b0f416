package oidc

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	coreos "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// Claims are what a provider says of a person who has signed in.
type Claims struct {
	identity.ProviderSession
	Email string
	// Verified reports that the provider has verified that the person owns the email.
	Verified bool
	// Domain is the organization's domain that the provider names (hd, of Google); ""
	// for none.
	Domain string
	// Roles are the values of the claim that roles derive from.
	Roles []string
}

// secretBytes is how many random bytes a sign-in begins with.
const secretBytes = 32

// derive returns what a sign-in uses for a purpose: the secret stays in the browser, what
// derives from it passes through addresses and tokens.
func derive(secret, purpose string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(purpose))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func stateOf(secret string) string    { return derive(secret, "state") }
func nonceOf(secret string) string    { return derive(secret, "nonce") }
func verifierOf(secret string) string { return derive(secret, "code_verifier") }

// Begin begins a sign-in. It returns the address to send the browser to, and a secret to
// keep in that browser for Finish. The browser returns to an origin of this service. It
// returns an Unavailable fault if the provider can't be reached.
func (p *Provider) Begin(ctx context.Context, origin string) (address, secret string, err error) {
	m, err := p.read(ctx)
	if err != nil {
		return "", "", err
	}
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b)
	secret = base64.RawURLEncoding.EncodeToString(b)
	return p.oauth(m, origin).AuthCodeURL(stateOf(secret), coreos.Nonce(nonceOf(secret)), oauth2.S256ChallengeOption(verifierOf(secret))),
		secret, nil
}

// refused returns the fault for a sign-in that did not succeed. The cause is for the log.
func refused(cause error) error {
	return &fault.Error{Code: fault.Unauthorized, Message: "the sign-in at the provider did not succeed; sign in again", Cause: cause}
}

// Finish finishes the sign-in that a secret began, with the parameters that the browser
// came back with. It returns an Unauthorized fault if they don't belong to it, or if the
// provider's tokens are not valid, and an Unavailable fault if it can't be reached.
func (p *Provider) Finish(ctx context.Context, secret, origin string, query url.Values) (*Claims, error) {
	state := query["state"]
	if secret == "" || len(state) != 1 || !hmac.Equal([]byte(state[0]), []byte(stateOf(secret))) {
		return nil, &fault.Error{
			Code: fault.Unauthorized, Message: "this sign-in was not begun in this browser, or took too long; sign in again",
			Cause: errors.New("the state is another one"),
		}
	}
	m, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	// A response of another provider must not be taken for one of this (RFC 9207).
	if issuers := query["iss"]; len(issuers) > 1 || len(issuers) == 1 && issuers[0] != p.Issuer || len(issuers) == 0 && m.sendsIssuer {
		return nil, refused(errors.New("the response is from another issuer"))
	}
	if reason := query.Get("error"); reason != "" {
		return nil, refused(fmt.Errorf("the provider says %.100q", reason))
	}
	code := query["code"]
	if len(code) != 1 || code[0] == "" {
		return nil, refused(errors.New("the response has no code"))
	}
	select {
	case p.underWay <- struct{}{}:
		defer func() { <-p.underWay }()
	case <-ctx.Done():
		return nil, fault.Unreachable(ctx.Err())
	}
	ctx = coreos.ClientContext(ctx, p.client)
	token, err := p.oauth(m, origin).Exchange(ctx, code[0], oauth2.VerifierOption(verifierOf(secret)))
	if err != nil {
		return nil, exchangeFailed(err)
	}
	return p.claims(ctx, m, token, nonceOf(secret))
}

// exchangeFailed returns the fault for a code that was not exchanged for tokens.
func exchangeFailed(err error) error {
	var answer *oauth2.RetrieveError
	switch {
	case !errors.As(err, &answer):
		return unreachable(fmt.Errorf("exchanging the code: %w", err))
	case answer.Response.StatusCode >= http.StatusInternalServerError:
		return unreachable(fmt.Errorf("exchanging the code: status %d", answer.Response.StatusCode))
	}
	return refused(fmt.Errorf("exchanging the code: status %d, %.100q", answer.Response.StatusCode, answer.ErrorCode))
}

// claims verifies the tokens of a sign-in and returns their claims.
func (p *Provider) claims(ctx context.Context, m *metadata, token *oauth2.Token, nonce string) (*Claims, error) {
	raw, _ := token.Extra("id_token").(string)
	verifier, keys := p.verifier(m)
	id, err := verifier.Verify(ctx, raw)
	switch {
	case keys.unread != nil:
		return nil, unreachable(keys.unread)
	case err != nil:
		return nil, refused(err)
	}
	var own struct {
		Party string `json:"azp"`
		SID   string `json:"sid"`
	}
	all := map[string]any{}
	if err := errors.Join(id.Claims(&own), id.Claims(&all)); err != nil {
		return nil, refused(err)
	}
	switch {
	case !hmac.Equal([]byte(id.Nonce), []byte(nonce)):
		err = errors.New("the token's nonce is another one")
	case own.Party != "" && own.Party != p.ClientID, len(id.Audience) > 1 && own.Party == "":
		err = errors.New("the token is for another party")
	case id.IssuedAt.After(p.Now().Add(skew)):
		err = errors.New("the token is from the future")
	case !storable(id.Subject) || id.Subject == "" || !storable(own.SID):
		err = errors.New("the token's sub or sid is too long, or has control characters")
	case id.AccessTokenHash != "":
		err = id.VerifyAccessToken(token.AccessToken)
	}
	if err != nil {
		return nil, refused(err)
	}
	if err := p.complete(ctx, m, token, id.Subject, all); err != nil {
		return nil, err
	}
	c := &Claims{ProviderSession: identity.ProviderSession{Issuer: p.Issuer, Subject: id.Subject, SID: own.SID}}
	c.Email, _ = all["email"].(string)
	c.Domain, _ = all["hd"].(string)
	c.Verified = isTrue(all["email_verified"]) || p.microsoft() && isTrue(all["xms_edov"])
	c.Roles = values(all, p.RoleClaim)
	return c, nil
}

// microsoft reports whether the provider is Entra ID, which has xms_edov (the domain of
// the email is the organization's own) in place of email_verified.
func (p *Provider) microsoft() bool {
	return strings.HasPrefix(p.Issuer, "https://login.microsoftonline.com/")
}

// complete adds the claims that only the UserInfo endpoint has.
func (p *Provider) complete(ctx context.Context, m *metadata, token *oauth2.Token, subject string, all map[string]any) error {
	if all["email"] != nil && (p.RoleClaim == "" || values(all, p.RoleClaim) != nil) || !m.hasUserInfo {
		return nil
	}
	info, err := m.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return unreachable(fmt.Errorf("reading the UserInfo: %w", err))
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return refused(err)
	}
	if info.Subject != subject { // OpenID Connect Core 1.0, section 5.3.2
		return refused(errors.New("the UserInfo is another person's"))
	}
	if all["email"] == nil { // an email and its verification come from the same place
		delete(all, "email_verified")
		delete(all, "xms_edov")
	}
	for name, value := range more {
		if _, known := all[name]; !known {
			all[name] = value
		}
	}
	return nil
}

// isTrue reads a claim that providers write as a boolean, a text or a number.
func isTrue(claim any) bool {
	switch v := claim.(type) {
	case bool:
		return v
	case string:
		return v == "true" || v == "1"
	case float64:
		return v == 1
	}
	return false
}

// values returns the texts of a claim: a text, or a list of texts. Nil if there is no
// such claim.
func values(all map[string]any, name string) []string {
	found, ok := all[name]
	if !ok {
		var in any = all
		for part := range strings.SplitSeq(name, ".") {
			object, _ := in.(map[string]any)
			in = object[part]
		}
		found = in
	}
	texts := []string{}
	switch v := found.(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// storable reports whether a text is one that every store can keep.
func storable(text string) bool {
	return len(text) <= identity.MaxSubject && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// logoutFor is how long after its issue a logout token works.
const logoutFor = 10 * time.Minute

// Logout verifies a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6) and
// returns what it ends. It returns an Invalid fault if the token isn't valid, and an
// Unavailable fault if the provider's keys can't be read.
func (p *Provider) Logout(ctx context.Context, raw string) (*identity.Logout, error) {
	m, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	verifier, keys := p.verifier(m)
	token, err := verifier.VerifyLogout(ctx, raw)
	switch {
	case keys.unread != nil || keys.unknown != nil: // the provider can send it again
		return nil, unreachable(cmp.Or(keys.unread, keys.unknown))
	case err != nil:
		return nil, badLogout(err)
	}
	var claims struct {
		Events map[string]json.RawMessage `json:"events"`
	}
	if err := token.Claims(&claims); err != nil {
		return nil, badLogout(err)
	}
	now := p.Now()
	switch {
	case !strings.HasPrefix(string(claims.Events[logoutEvent]), "{"):
		err = errors.New("the event is not an object")
	case token.IssuedAt.IsZero(), token.IssuedAt.After(now.Add(skew)), token.IssuedAt.Before(now.Add(-logoutFor - skew)):
		err = errors.New("the token is too old, or from the future")
	case !slices.ContainsFunc([]string{token.Subject, token.SessionID}, func(s string) bool { return s != "" }),
		!storable(token.Subject), !storable(token.SessionID):
		err = errors.New("the token's sub or sid is too long, or has control characters")
	}
	if err != nil {
		return nil, badLogout(err)
	}
	hash := sha256.Sum256([]byte(p.Issuer + "\n" + token.TokenID))
	return &identity.Logout{
		Issuer: p.Issuer, Subject: token.Subject, SID: token.SessionID, Token: hash[:],
		Expires: token.IssuedAt.Add(logoutFor + 2*skew), Before: token.IssuedAt.Add(skew),
	}, nil
}

// logoutEvent is the event of a logout token.
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

func badLogout(cause error) error {
	return &fault.Error{Code: fault.Invalid, Message: "the logout token is not valid", Cause: cause}
}
