package issuer

import (
	"crypto"
	_ "crypto/sha256" // for thumbprint
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// thumbprint is the hash that identifies keys (RFC 7638).
const thumbprint = crypto.SHA256

const (
	// lifeAfter is how long a token is valid after the attempt has timed out, and
	// maxLife how long it is valid at most.
	lifeAfter = 5 * time.Minute
	maxLife   = time.Hour
)

// Claims are what a token says.
type Claims struct {
	Account  uuid.UUID
	Audience string
	ID       string // of the message
	Job      int64
	Schedule uuid.UUID // uuid.Nil for none
	Email    string    // "" for none
	Timeout  time.Duration
}

// claims are Claims as they are encoded.
type claims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
	ID       string `json:"jti"`
	Job      int64  `json:"job_id"`
	Schedule string `json:"schedule_id,omitempty"`
	Email    string `json:"email,omitempty"`
}

// Token returns a signed token, or ErrSealed. It is valid from now, by this machine's
// clock, until five minutes after the timeout, an hour at most.
func (i *Issuer) Token(c Claims) (string, error) {
	k, ok := i.signing()
	if !ok {
		return "", ErrSealed
	}
	now := time.Now().Unix()
	encoded := claims{
		Issuer: i.URL, Subject: "account:" + c.Account.String(), Audience: c.Audience, ID: c.ID, Job: c.Job, Email: c.Email,
		IssuedAt: now, Expires: now + int64(min(c.Timeout+lifeAfter, maxLife)/time.Second),
	}
	if c.Schedule != uuid.Nil {
		encoded.Schedule = c.Schedule.String()
	}
	payload, err := json.Marshal(encoded)
	if err != nil {
		return "", fmt.Errorf("encoding a token: %w", err)
	}
	signed, err := k.signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return signed.CompactSerialize()
}
