package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keysFor is how long the provider's keys are used before they are fetched again.
	keysFor = 15 * time.Minute
	// maxKeys is how many keys a provider may publish.
	maxKeys = 100
)

// algorithms are the ones that a token may be signed with: none that has no key, or
// whose key is the client's secret.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// keySet verifies the signature of a token with the keys that the provider publishes. It
// implements KeySet of go-oidc, whose verifiers don't wrap the errors of a KeySet: so the
// reason why a token can't be verified now is kept.
type keySet struct {
	keys *cached[[]jose.JSONWebKey]
	// unread is set if the provider's keys can't be read now, and unknown if none of them has
	// the token's key ID and they can't be read again yet: the token may be valid.
	unread, unknown error
}

// VerifySignature returns the payload of a token if a key of the provider has signed it.
// A key that isn't known yet is looked for once, so that the provider can rotate its keys.
func (s *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, fmt.Errorf("reading a token: %w", err)
	}
	id, before, known := signed.Signatures[0].Header.KeyID, s.keys.fetched(), false
	for _, age := range []time.Duration{keysFor, 0} {
		keys, err := s.keys.get(ctx, age)
		if err != nil {
			s.unread = err
			return nil, err
		}
		for _, key := range keys {
			if id != "" && key.KeyID != id {
				continue
			}
			known = known || id != "" // a token that names no key may be signed with a new one
			if payload, err := signed.Verify(key); err == nil {
				return payload, nil
			}
		}
	}
	err = errors.New("no key of the provider has signed the token")
	if !known && s.keys.fetched() == before {
		s.unknown = err
	}
	return nil, err
}

// fetchKeys returns the keys at an address that may verify signatures.
func fetchKeys(ctx context.Context, client *http.Client, address string) ([]jose.JSONWebKey, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetching the provider's keys: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetching the provider's keys: status %d", response.StatusCode)
	}
	// Keys of kinds that are not known are left out, not an error.
	var published struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(response.Body).Decode(&published); err != nil {
		return nil, fmt.Errorf("reading the provider's keys: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, text := range published.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) == nil && key.Valid() && key.IsPublic() && key.Use != "enc" && len(keys) < maxKeys {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the provider publishes no key that verifies signatures")
	}
	return keys, nil
}
