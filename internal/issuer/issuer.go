package issuer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/punctual-dev/punctual/internal/identity"
)

const (
	// DiscoveryPath and KeysPath are where the documents are served.
	DiscoveryPath = "/.well-known/openid-configuration"
	KeysPath      = "/.well-known/jwks.json"

	// Ahead is how long a new key is published before it signs. It is more than
	// MaxAge and refreshEvery together.
	Ahead = 10 * time.Minute
	// Published is how long a key is published after it was replaced.
	Published = 24 * time.Hour
	// MaxAge is how long receivers may keep the published keys.
	MaxAge = 5 * time.Minute

	// refreshEvery is how often the keys are read again.
	refreshEvery = 15 * time.Second
	// refreshLeast is the least time between two reads for clients. It is short, so that
	// the first request after a rotation sees the new key.
	refreshLeast = 50 * time.Millisecond
)

// ErrSealed reports that no key of the issuer can be decrypted by this service.
var ErrSealed = errors.New("the keys of the issuer of tokens are encrypted with a key that this service does not have")

// Keys stores the issuer's keys; see store.SigningKeys.
type Keys interface {
	SigningKeys(ctx context.Context, account int64) ([]identity.SigningKey, error)
	SigningKeyAdd(ctx context.Context, k *identity.SigningKey, othersEnd time.Time) (added bool, err error)
}

// Config configures an Issuer.
type Config struct {
	Keys Keys
	// URL is the issuer's, without a slash at its end.
	URL string
	Now func() time.Time
	Log *slog.Logger
}

// Issuer issues tokens. It is safe for concurrent use.
type Issuer struct {
	Config

	reading sync.Mutex // held while the keys are read
	mu      sync.Mutex
	keys    []key // the newest first
	readAt  time.Time
}

// key is a key that can be used.
type key struct {
	id      string
	signsAt time.Time
	public  jose.JSONWebKey
	signer  jose.Signer
}

// Open returns an Issuer, for which it makes the first key if there is none.
func Open(ctx context.Context, config Config) (*Issuer, error) {
	i := &Issuer{Config: config}
	stored, err := i.Keys.SigningKeys(ctx, identity.IssuerAccount)
	if err == nil && len(stored) == 0 {
		// Of several nodes, one adds it.
		_, err = add(ctx, i.Keys, 1, i.Now(), i.Now(), time.Time{})
	}
	if err == nil {
		err = i.refresh(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the keys of the issuer of tokens: %w", err)
	}
	if len(i.known()) == 0 {
		i.Log.Error("tokens can't be issued: attempts that need them fail with the kind secret; "+
			"add the key they were encrypted with to the file of --secrets-key-file and restart", "error", ErrSealed)
	}
	return i, nil
}

// add stores a new key.
func add(ctx context.Context, keys Keys, number int64, now, signsAt, othersEnd time.Time) (bool, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return false, fmt.Errorf("making a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return false, fmt.Errorf("encoding a key: %w", err)
	}
	return keys.SigningKeyAdd(ctx, &identity.SigningKey{
		Account: identity.IssuerAccount, Number: number, Private: base64.StdEncoding.EncodeToString(der), CreatedAt: now, SignsAt: signsAt,
	}, othersEnd)
}

// parse returns a stored key.
func parse(stored *identity.SigningKey) (key, error) {
	der, err := base64.StdEncoding.DecodeString(stored.Private)
	if err != nil {
		return key{}, errors.New("it is not base64")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	private, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok || private.Curve != elliptic.P256() {
		return key{}, errors.New("it is not a key for ES256")
	}
	k := key{signsAt: stored.SignsAt, public: jose.JSONWebKey{Key: private.Public(), Algorithm: string(jose.ES256), Use: "sig"}}
	sum, err := k.public.Thumbprint(thumbprint)
	if err != nil {
		return key{}, err
	}
	k.id = base64.RawURLEncoding.EncodeToString(sum)
	k.public.KeyID = k.id
	k.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: private, KeyID: k.id}},
		(&jose.SignerOptions{}).WithType("JWT"))
	return k, err
}

// refresh reads the keys again. Those that can't be decrypted are left out.
func (i *Issuer) refresh(ctx context.Context) error {
	stored, err := i.Keys.SigningKeys(ctx, identity.IssuerAccount)
	if err != nil {
		return err
	}
	var keys []key
	for n := range stored {
		if stored[n].Private == "" {
			continue
		}
		k, err := parse(&stored[n])
		if err != nil {
			return fmt.Errorf("the key %d: %w", stored[n].Number, err)
		}
		keys = append(keys, k)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys, i.readAt = keys, time.Now()
	return nil
}

// Run reads the keys again and again, until ctx ends.
func (i *Issuer) Run(ctx context.Context) {
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := i.refresh(ctx); err != nil && ctx.Err() == nil {
				i.Log.Warn("reading the keys of the issuer of tokens failed; retrying", "error", err)
			}
		}
	}
}

func (i *Issuer) known() []key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys
}

// signing returns the key that signs now: the newest one whose time has come.
func (i *Issuer) signing() (key, bool) {
	keys, now := i.known(), i.Now()
	for _, k := range keys {
		if !k.signsAt.After(now) {
			return k, true
		}
	}
	if len(keys) == 0 {
		return key{}, false
	}
	return keys[len(keys)-1], true
}

// JWKS returns the document with the public keys (RFC 7517). If the store can't be read,
// it has the keys known last.
func (i *Issuer) JWKS(ctx context.Context) ([]byte, error) {
	i.reading.Lock()
	i.mu.Lock()
	old := time.Since(i.readAt) >= refreshLeast
	i.mu.Unlock()
	if old {
		if err := i.refresh(ctx); err != nil && ctx.Err() == nil {
			i.Log.Warn("reading the keys of the issuer of tokens failed; those known last are published", "error", err)
		}
	}
	i.reading.Unlock()
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, k := range i.known() {
		set.Keys = append(set.Keys, k.public)
	}
	return json.Marshal(set)
}

// Discovery returns the document that describes the issuer (OpenID Connect Discovery
// 1.0).
func (i *Issuer) Discovery() ([]byte, error) {
	return json.Marshal(map[string]any{
		"issuer":                                i.URL,
		"jwks_uri":                              i.URL + KeysPath,
		"response_types_supported":              []string{"id_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{string(jose.ES256)},
		"claims_supported":                      []string{"iss", "sub", "aud", "iat", "exp", "jti", "job_id", "schedule_id", "email"},
	})
}
