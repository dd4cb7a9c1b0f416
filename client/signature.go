package client

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Errors of Verifier.Verify.
var (
	// ErrSignature says that no signature is by one of the secrets or keys.
	ErrSignature = errors.New("punctual: the signature is missing or wrong")
	// ErrTimestamp says that the message is too old, or from the future.
	ErrTimestamp = errors.New("punctual: the timestamp is outside of the tolerance")
)

// DefaultTolerance is how far webhook-timestamp may be from the receiver's clock.
const DefaultTolerance = 5 * time.Minute

// maxSignatures bounds the signatures of one message that are looked at.
const maxSignatures = 32

// Verifier checks signatures as Standard Webhooks define them. It is safe for
// concurrent use.
type Verifier struct {
	// Tolerance is how far the timestamp may be from the clock; DefaultTolerance if
	// zero.
	Tolerance time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time

	keys   [][]byte
	public []ed25519.PublicKey
}

// NewVerifier returns a verifier for signing secrets, each "whsec_" and base64, and
// for public keys, each "whpk_" and base64. A public key, which [Client.GetAccount]
// shows, can verify messages and not sign any. While a secret and with it a key is
// being rotated, give both.
func NewVerifier(secrets ...string) (*Verifier, error) {
	if len(secrets) == 0 {
		return nil, errors.New("punctual: a verifier needs a signing secret or a public key")
	}
	v := &Verifier{}
	for i, secret := range secrets {
		encoded, public := strings.CutPrefix(secret, "whpk_")
		key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimPrefix(encoded, "whsec_"), "="))
		switch {
		case public && (err != nil || len(key) != ed25519.PublicKeySize):
			return nil, fmt.Errorf("punctual: public key %d is not whpk_ and the base64 of %d bytes", i+1, ed25519.PublicKeySize)
		case public:
			v.public = append(v.public, key)
		case err != nil || len(key) == 0:
			return nil, fmt.Errorf("punctual: signing secret %d is not whsec_ and base64", i+1) // without the secret
		default:
			v.keys = append(v.keys, key)
		}
	}
	return v, nil
}

// Signed is what a signature vouches for, beside the body.
type Signed struct {
	// ID is webhook-id: "job_" and the record's id for a request of a job, the same
	// for all of its attempts; the message's id for callbacks and webhooks.
	ID string
	// Timestamp is when the message was signed, to the second.
	Timestamp time.Time
}

// Verify checks the signature of a message with this body. Its errors wrap
// ErrSignature or ErrTimestamp.
func (v *Verifier) Verify(header http.Header, body []byte) (Signed, error) {
	id, at := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if id == "" || err != nil {
		return Signed{}, fmt.Errorf("%w: webhook-id or webhook-timestamp is missing", ErrSignature)
	}
	if !v.signedBy(header.Get("Webhook-Signature"), id+"."+at+".", body) {
		return Signed{}, ErrSignature
	}
	now, tolerance := time.Now, v.Tolerance
	if v.Now != nil {
		now = v.Now
	}
	setDefault(&tolerance, DefaultTolerance)
	timestamp := time.Unix(seconds, 0)
	if age := now().Sub(timestamp); age > tolerance || age < -tolerance {
		return Signed{}, ErrTimestamp
	}
	return Signed{ID: id, Timestamp: timestamp}, nil
}

// signedBy reports whether one of the signatures is by one of the keys. Those by
// secrets are compared in constant time.
func (v *Verifier) signedBy(signatures, prefix string, body []byte) bool {
	found := false
	for _, signature := range strings.SplitN(signatures, " ", maxSignatures) {
		version, text, _ := strings.Cut(signature, ",")
		given, err := base64.StdEncoding.DecodeString(text)
		switch {
		case err != nil:
		case version == "v1":
			for _, key := range v.keys {
				mac := hmac.New(sha256.New, key)
				mac.Write([]byte(prefix))
				mac.Write(body)
				found = hmac.Equal(mac.Sum(nil), given) || found
			}
		case version == "v1a" && len(v.public) > 0:
			message := append([]byte(prefix), body...)
			for _, key := range v.public {
				found = found || ed25519.Verify(key, message, given)
			}
		}
	}
	return found
}
