package execute

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// The signature's header fields (Standard Webhooks).
const (
	fieldID        = "webhook-id"
	fieldTimestamp = "webhook-timestamp"
	fieldSignature = "webhook-signature"
)

const (
	secretPrefix     = "whsec_"
	privatePrefix    = "whsk_"
	publicPrefix     = "whpk_"
	signatureSize    = len("v1,") + 44  // base64 of 32 bytes
	keySignatureSize = len("v1a,") + 88 // base64 of 64 bytes
)

// Secret is a raw HMAC key. Formatting it with %v or %s does not show the key.
type Secret []byte

// String hides the key.
func (Secret) String() string { return secretPrefix + "…" }

// GoString hides the key.
func (Secret) GoString() string { return "execute.Secret(…)" }

// ErrSealed reports that an account's signing secrets are encrypted with keys
// that this service does not have.
var ErrSealed = errors.New("the signing secrets are encrypted with a key that this service does not have")

var errSecret = errors.New(`a signing secret must be "whsec_" followed by base64`)

// DecodeSecret parses a secret in its usual form: "whsec_" and standard base64,
// with or without padding. The error never contains the secret.
func DecodeSecret(s string) (Secret, error) {
	encoded, ok := strings.CutPrefix(s, secretPrefix)
	if !ok {
		return nil, errSecret
	}
	key, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(encoded, "="))
	if err != nil || len(key) == 0 {
		return nil, errSecret
	}
	return key, nil
}

// Key is a private key whose public key receivers may know. Formatting it with %v or %s
// does not show the key.
type Key struct{ private ed25519.PrivateKey }

// NewKey returns a new random Key.
func NewKey() (Key, error) {
	_, private, err := ed25519.GenerateKey(nil)
	return Key{private}, err
}

// String returns the public key.
func (k Key) String() string { return k.Public() }

// GoString hides the key.
func (k Key) GoString() string { return "execute.Key(" + k.Public() + ")" }

// Public returns the public key in its usual form: "whpk_" and standard base64.
func (k Key) Public() string {
	return publicPrefix + base64.StdEncoding.EncodeToString(k.private[ed25519.SeedSize:])
}

// Encode returns the private key in its usual form: "whsk_" and standard base64.
func (k Key) Encode() string {
	return privatePrefix + base64.StdEncoding.EncodeToString(k.private)
}

var errKey = errors.New(`a signing key must be "whsk_" followed by base64`)

// DecodeKey parses a private key in its usual form. The error never contains the key.
func DecodeKey(s string) (Key, error) {
	encoded, ok := strings.CutPrefix(s, privatePrefix)
	if !ok {
		return Key{}, errKey
	}
	b, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(b) != ed25519.PrivateKeySize {
		return Key{}, errKey
	}
	return Key{ed25519.NewKeyFromSeed(b[:ed25519.SeedSize])}, nil
}

// Signing is what signs the requests of an account, newest first: each secret and each
// key adds a signature.
type Signing struct {
	Secrets []Secret
	Keys    []Key
}

// Sign returns the value of webhook-signature (Standard Webhooks): signatures of
// "id.timestamp.body", separated by spaces. For each secret it has "v1," and the
// base64 of the HMAC-SHA256, for each key "v1a," and the base64 of the Ed25519
// signature. Without secrets and keys it is "".
func (s *Signing) Sign(id string, unixSeconds int64, body []byte) string {
	if s.empty() {
		return ""
	}
	room := make([]byte, 0, 128) // usually enough for an id, a timestamp and a sum
	prefix := append(append(room, id...), '.')
	prefix = append(strconv.AppendInt(prefix, unixSeconds, 10), '.')

	out := make([]byte, 0, len(s.Secrets)*(signatureSize+1)+len(s.Keys)*(keySignatureSize+1))
	for i, secret := range s.Secrets {
		if i > 0 {
			out = append(out, ' ')
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write(prefix)
		mac.Write(body)
		sum := mac.Sum(prefix)[len(prefix):]
		out = base64.StdEncoding.AppendEncode(append(out, "v1,"...), sum)
	}
	if len(s.Keys) == 0 {
		return string(out)
	}
	message := append(prefix, body...)
	for _, key := range s.Keys {
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = base64.StdEncoding.AppendEncode(append(out, "v1a,"...), ed25519.Sign(key.private, message))
	}
	return string(out)
}

func (s *Signing) empty() bool { return len(s.Secrets) == 0 && len(s.Keys) == 0 }
