package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/store"
)

// KeyPrefix is the prefix of every API key.
const KeyPrefix = "sk_"

// shownPrefix is how many characters of a key are stored so that people can
// recognise it.
const shownPrefix = len(KeyPrefix) + 6

// SecretOverlap is how long an old signing secret still signs after a rotation.
const SecretOverlap = 24 * time.Hour

// PublicEmail is the email of the shared public key's account. Nobody can register
// it because it is not a valid address.
const PublicEmail = "public"

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newToken returns a prefix followed by 43 characters that encode 256 random bits.
func newToken(prefix string) string {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	n, base, digit := new(big.Int).SetBytes(b), big.NewInt(62), new(big.Int)
	text := make([]byte, 43)
	for i := range text {
		n.DivMod(n, base, digit)
		text[i] = base62[digit.Int64()]
	}
	return prefix + string(text)
}

func newSecret(now time.Time) identity.Secret {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	return identity.Secret{Value: "whsec_" + base64.StdEncoding.EncodeToString(b), CreatedAt: now}
}

func hashKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// CreateAccount creates an account of somebody whom an operator knows, with its first
// signing secret.
func CreateAccount(ctx context.Context, s store.Accounts, email string, now time.Time) (*identity.Account, error) {
	normal := NormalEmail(email)
	if !isEmail(normal) {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("%q is not an email address; give one like alex@example.com", email))
	}
	if err := refuseTaken(ctx, s, email); err != nil {
		return nil, err
	}
	return insertAccount(ctx, s, normal, identity.OriginKnown, now)
}

// refuseTaken returns an Invalid fault if the email has an account in the form of
// earlier versions. The store refuses one in the normal form.
func refuseTaken(ctx context.Context, s store.Accounts, email string) error {
	old := earlierForm(email)
	if old == NormalEmail(email) {
		return nil
	}
	_, err := s.AccountGet(ctx, old)
	switch {
	case err == nil:
		return fault.New(fault.Invalid, fmt.Sprintf("there is an account %s already", old))
	case fault.CodeOf(err) == fault.NotFound:
		return nil
	}
	return err
}

// AccountByEmail returns the account of an email as somebody has typed it, or a
// NotFound fault. Accounts made by earlier versions may have an email that is not in
// the normal form.
func AccountByEmail(ctx context.Context, s store.Accounts, email string) (*identity.Account, error) {
	normal, old := NormalEmail(email), earlierForm(email)
	a, err := s.AccountGet(ctx, old)
	if old != normal && err != nil && fault.CodeOf(err) == fault.NotFound {
		return s.AccountGet(ctx, normal)
	}
	return a, err
}

// isEmail reports whether an email is a valid address.
func isEmail(email string) bool {
	_, ok := mailaddress.Parse(email)
	return ok
}

func insertAccount(ctx context.Context, s store.Accounts, email string, origin identity.Origin, now time.Time) (*identity.Account, error) {
	a := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: email, CreatedAt: now, Origin: origin,
		Secrets: []identity.Secret{newSecret(now)}}
	return a, s.AccountInsert(ctx, a)
}

// NormalEmail returns the normal form of an email, in which it is stored. What is not
// an address is returned as earlier versions stored it.
func NormalEmail(email string) string {
	if a, ok := mailaddress.Parse(email); ok {
		return a.String()
	}
	return earlierForm(email)
}

// earlierForm returns the form in which earlier versions stored an email.
func earlierForm(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// PublicAccount returns the account of the shared public key, creating it if
// necessary.
func PublicAccount(ctx context.Context, s store.Accounts, now time.Time) (*identity.Account, error) {
	a, err := s.AccountGet(ctx, PublicEmail)
	if fault.CodeOf(err) == fault.NotFound && err != nil {
		return insertAccount(ctx, s, PublicEmail, identity.OriginShared, now)
	}
	return a, err
}

// RotateSecret creates a signing secret; the old ones still sign for SecretOverlap.
func RotateSecret(ctx context.Context, s store.Accounts, a *identity.Account, now time.Time) error {
	return s.SecretAdd(ctx, a.Number, newSecret(now), now.Add(SecretOverlap))
}

// CreateKey creates a key with full access and returns it with its record. The key
// can't be retrieved again.
func CreateKey(ctx context.Context, s store.Accounts, a *identity.Account, name string, now time.Time) (string, *identity.Key, error) {
	return IssueKey(ctx, s, a.Number, KeySpec{Name: name}, now)
}

// IssueKey creates a key and returns it with its record, or an Invalid fault if the
// spec is invalid.
func IssueKey(ctx context.Context, s store.Accounts, account int64, spec KeySpec, now time.Time) (string, *identity.Key, error) {
	if err := fault.Refuse(spec.check(now)); err != nil {
		return "", nil, err
	}
	key := newToken(KeyPrefix)
	k := &identity.Key{
		ID: job.NewID(now), Account: account, Name: spec.Name, Prefix: key[:shownPrefix], Hash: hashKey(key), CreatedAt: now,
		Scope: spec.Scope, ExpiresAt: spec.ExpiresAt, CIDRs: spec.CIDRs, MadeBy: spec.madeBy, Ceiling: spec.ceiling,
	}
	return key, k, s.KeyInsert(ctx, k)
}

// EnsureKey gives an account the key that is named with full access, unless it has one of
// that name. It is for a service that only this machine reaches: others may know the key.
func EnsureKey(ctx context.Context, s store.Accounts, account int64, key, name string, now time.Time) error {
	keys, err := s.KeyList(ctx, account)
	if err != nil {
		return err
	}
	hash := hashKey(key)
	for _, k := range keys {
		if equal(k.Hash, hash) && k.RevokedAt.IsZero() {
			return nil
		}
	}
	return s.KeyInsert(ctx, &identity.Key{
		ID: job.NewID(now), Account: account, Name: name, Prefix: key[:shownPrefix], Hash: hash, CreatedAt: now, Scope: identity.ScopeAdmin,
	})
}

// equal compares a and b in constant time.
func equal(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }
