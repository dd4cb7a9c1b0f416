package secret

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// maxPEM is the greatest length of a certificate with its chain, and of a private
	// key, in bytes; maxChain is how many certificates a chain may have.
	maxPEM   = 32 << 10
	maxChain = 8
	// minRSA and maxRSA bound the length of RSA keys, in bits: a signature by a longer
	// one takes tens of milliseconds.
	minRSA = 2048
	maxRSA = 4096

	maxAccessKeyID  = 128
	maxAccessKey    = 256
	maxSessionToken = 4 << 10
)

// clientCert is a client certificate with its private key, both PEM.
type clientCert struct {
	Chain      string `json:"certificate"`
	PrivateKey string `json:"private_key"`
}

// accessKey is an access key of AWS; SessionToken is "" for one that lasts.
type accessKey struct {
	ID           string `json:"id"`
	Secret       string `json:"secret"`
	SessionToken string `json:"session_token,omitempty"`
}

// require refuses the fields of a list that are not given.
func (r *reader) require(given map[string]bool, names ...string) bool {
	all := true
	for _, name := range names {
		if !given[name] {
			r.refuse("is required", name)
			all = false
		}
	}
	return all
}

func (r *reader) accessKey(body rawjson.Value, given map[string]bool) *accessKey {
	r.require(given, "access_key_id", "secret_access_key")
	read := func(name string, most int) string {
		if !given[name] {
			return ""
		}
		return r.text(rawjson.Get(body, name), 1, most, name)
	}
	return &accessKey{ID: read("access_key_id", maxAccessKeyID), Secret: read("secret_access_key", maxAccessKey),
		SessionToken: read("session_token", maxSessionToken)}
}

// certificate reads a certificate and verifies that its key matches. No problem repeats
// a part of the key.
func (r *reader) certificate(body rawjson.Value, given map[string]bool) *clientCert {
	if !r.require(given, "certificate", "private_key") {
		return nil
	}
	read := func(name string) string {
		v := rawjson.Get(body, name)
		switch text := rawjson.Text(v); {
		case v.Kind() != '"':
			r.refuse("must be a string with PEM", name)
		case len(text) > maxPEM:
			r.refuse(fmt.Sprintf("must have at most %d bytes", maxPEM), name)
		default:
			return text
		}
		return ""
	}
	c := &clientCert{Chain: read("certificate"), PrivateKey: read("private_key")}
	before := r.problems.Len()
	if why := whyNotChain(c.Chain, time.Now()); c.Chain != "" && why != "" {
		r.refuse(why, "certificate")
	}
	if why := whyNotPrivateKey(c.PrivateKey); c.PrivateKey != "" && why != "" {
		r.refuse(why, "private_key")
	}
	if r.problems.Len() > before || c.Chain == "" || c.PrivateKey == "" {
		return c
	}
	if _, err := execute.NewCertificate([]byte(c.Chain), []byte(c.PrivateKey)); err != nil {
		r.refuse("does not match the first certificate; the client's own certificate must come first in its chain", "private_key")
	}
	return c
}

// whyNotChain returns why text is not a chain of certificates, or "" if it is.
func whyNotChain(text string, now time.Time) string {
	const must = "must be PEM with the client's certificate, then those that lead to its authority, and nothing else"
	n := 0
	for rest := []byte(text); ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			if strings.TrimSpace(string(rest)) != "" || n == 0 {
				return must
			}
			return ""
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		switch {
		case block.Type != "CERTIFICATE" || err != nil:
			return must
		case n == maxChain:
			return fmt.Sprintf("must have at most %d certificates", maxChain)
		case n == 0 && now.After(parsed.NotAfter):
			return "is no longer valid: it ended at " + parsed.NotAfter.UTC().Format(time.RFC3339)
		}
	}
}

// whyNotPrivateKey returns why text is not a private key, or "" if it is.
func whyNotPrivateKey(text string) string {
	const must = "must be PEM with one private key that is not encrypted: RSA, ECDSA or Ed25519"
	block, rest := pem.Decode([]byte(text))
	if block == nil || strings.TrimSpace(string(rest)) != "" || !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return must
	}
	var private any
	var err error
	if private, err = x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
		if private, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
			private, err = x509.ParseECPrivateKey(block.Bytes)
		}
	}
	if err != nil {
		return must
	}
	switch key := private.(type) {
	case *rsa.PrivateKey:
		if bits := key.N.BitLen(); bits < minRSA || bits > maxRSA {
			return fmt.Sprintf("must have %d to %d bits if it is RSA", minRSA, maxRSA)
		}
	case *ecdsa.PrivateKey, ed25519.PrivateKey:
	default:
		return must
	}
	return ""
}
