package identity

import "time"

// SigningKey is a private key whose public key is published: an account's Ed25519 key,
// of which there is one beside each signing secret, or a key of the issuer, which
// signs tokens (ES256).
type SigningKey struct {
	Account int64 // IssuerAccount for a key of the issuer
	// Number identifies the key within its account: the time at which the signing
	// secret was created, in microseconds since 1970; the issuer's count from 1.
	Number int64
	// Private is the base64 of the key (PKCS #8), or encrypted; "" if package secret
	// could not decrypt it.
	Private   string
	CreatedAt time.Time
	SignsAt   time.Time // from when it signs; until then it is published only
	EndsAt    time.Time // until when it is published; zero: until it is replaced
}

// IssuerAccount stands for the service itself among the accounts of signing keys.
const IssuerAccount = 0

// MaxIssuerKeys is how many keys of the issuer may be published at once.
const MaxIssuerKeys = 10
