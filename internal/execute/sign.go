package execute

import (
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
	secretPrefix  = "whsec_"
	signatureSize = len("v1,") + 44 // base64 of 32 bytes
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

// Sign returns the value of webhook-signature (Standard Webhooks): for each
// secret "v1," and the base64 of the HMAC-SHA256 over "id.timestamp.body",
// separated by spaces. Without secrets it is "".
func Sign(secrets []Secret, id string, unixSeconds int64, body []byte) string {
	if len(secrets) == 0 {
		return ""
	}
	room := make([]byte, 0, 128) // usually enough for an id, a timestamp and a sum
	prefix := append(append(room, id...), '.')
	prefix = append(strconv.AppendInt(prefix, unixSeconds, 10), '.')

	out := make([]byte, 0, len(secrets)*(signatureSize+1))
	for i, secret := range secrets {
		if i > 0 {
			out = append(out, ' ')
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write(prefix)
		mac.Write(body)
		sum := mac.Sum(prefix)[len(prefix):]
		out = base64.StdEncoding.AppendEncode(append(out, "v1,"...), sum)
	}
	return string(out)
}
