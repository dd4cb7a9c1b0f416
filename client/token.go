package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ErrToken says that a token is missing, not by the issuer, not for this audience, or
// no longer valid.
var ErrToken = errors.New("punctual: the token is missing, wrong or no longer valid")

const (
	// keysFor is how long published keys are kept, and keysLeast how long they are kept
	// at least, whatever tokens name.
	keysFor   = 5 * time.Minute
	keysLeast = 10 * time.Second
	// maxDocument bounds a document of the issuer, maxTokenSize a token, in bytes.
	maxDocument  = 64 << 10
	maxTokenSize = 16 << 10
	// tokenLeeway is how far the clocks of the service and the receiver may differ.
	tokenLeeway = time.Minute
)

// TokenVerifier verifies the tokens that a service sends with jobs whose Auth has OIDC:
// JWT with ES256, by the keys that the service publishes, which it fetches and keeps for
// five minutes. It is safe for concurrent use.
type TokenVerifier struct {
	// Issuer is the public URL of the service, which must be https except in tests.
	Issuer string
	// Audience is what the token must be for: what the job says, or else the origin of
	// its URL.
	Audience string
	// HTTPClient fetches the keys; one with a timeout of 10 seconds if nil.
	HTTPClient *http.Client
	// Now is the clock; time.Now if nil.
	Now func() time.Time

	mu   sync.Mutex
	keys map[string]*ecdsa.PublicKey
	at   time.Time
}

// Claims are what a token says.
type Claims struct {
	Subject    string `json:"sub"` // "account:" and the id of the account whose job it is
	ID         string `json:"jti"` // the webhook-id
	JobID      int64  `json:"job_id"`
	ScheduleID string `json:"schedule_id"` // "" for a one-off job
	Email      string `json:"email"`       // proves nothing
	IssuedAt   int64  `json:"iat"`         // unix seconds
	Expires    int64  `json:"exp"`         // unix seconds
}

// VerifyRequest verifies the token in the header Authorization of a request. Receivers
// should also check Subject: every account of the service can get tokens for any
// audience. Its errors wrap ErrToken, unless the keys could not be fetched.
func (v *TokenVerifier) VerifyRequest(r *http.Request) (Claims, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return Claims{}, ErrToken
	}
	return v.Verify(r.Context(), token)
}

// Verify verifies a token.
func (v *TokenVerifier) Verify(ctx context.Context, token string) (Claims, error) {
	if v.Issuer == "" || v.Audience == "" {
		return Claims{}, errors.New("punctual: a TokenVerifier needs an Issuer and an Audience")
	}
	parts := strings.Split(token, ".")
	if len(token) > maxTokenSize || len(parts) != 3 {
		return Claims{}, ErrToken
	}
	var head struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
	}
	var body struct {
		Claims
		Issuer   string `json:"iss"`
		Audience string `json:"aud"`
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 || decodePart(parts[0], &head) != nil || decodePart(parts[1], &body) != nil ||
		head.Algorithm != "ES256" {
		return Claims{}, ErrToken
	}
	key, err := v.key(ctx, head.KeyID)
	if err != nil {
		return Claims{}, err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if key == nil || !ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return Claims{}, ErrToken
	}
	now := v.now()
	if body.Issuer != v.Issuer || body.Audience != v.Audience || now.After(time.Unix(body.Expires, 0).Add(tokenLeeway)) ||
		now.Before(time.Unix(body.IssuedAt, 0).Add(-tokenLeeway)) {
		return Claims{}, ErrToken
	}
	return body.Claims, nil
}

func decodePart(part string, to any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

func (v *TokenVerifier) now() time.Time {
	if v.Now != nil {
		return v.Now()
	}
	return time.Now()
}

// key returns the published key with an id; nil if there is none. It fetches the keys
// again if they are old, or don't have the id.
func (v *TokenVerifier) key(ctx context.Context, id string) (*ecdsa.PublicKey, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key, age := v.keys[id], v.now().Sub(v.at)
	if v.keys != nil && (age < keysLeast || key != nil && age < keysFor) {
		return key, nil
	}
	keys, err := v.fetch(ctx)
	if err != nil {
		if key != nil {
			return key, nil // the service can't be reached just now
		}
		return nil, fmt.Errorf("punctual: fetching the keys of %s: %w", v.Issuer, err)
	}
	v.keys, v.at = keys, v.now()
	return keys[id], nil
}

// fetch returns the keys that the issuer publishes.
func (v *TokenVerifier) fetch(ctx context.Context) (map[string]*ecdsa.PublicKey, error) {
	var set struct {
		Keys []struct {
			Type  string `json:"kty"`
			Curve string `json:"crv"`
			ID    string `json:"kid"`
			X     string `json:"x"`
			Y     string `json:"y"`
		} `json:"keys"`
	}
	if err := v.document(ctx, v.Issuer+"/.well-known/jwks.json", &set); err != nil {
		return nil, err
	}
	keys := map[string]*ecdsa.PublicKey{}
	for _, k := range set.Keys {
		x, badX := base64.RawURLEncoding.DecodeString(k.X)
		y, badY := base64.RawURLEncoding.DecodeString(k.Y)
		if k.Type != "EC" || k.Curve != "P-256" || badX != nil || badY != nil || len(x) != 32 || len(y) != 32 {
			continue
		}
		if key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...)); err == nil {
			keys[k.ID] = key
		}
	}
	return keys, nil
}

func (v *TokenVerifier) document(ctx context.Context, url string, to any) error {
	client := v.HTTPClient
	if client == nil {
		client = &http.Client{Timeout: 10 * time.Second}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(response.Body, maxDocument)).Decode(to)
}
