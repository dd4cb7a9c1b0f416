package execute

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
)

// Certificate is a client certificate with its private key. Requests of different
// Certificates share no connections and no TLS sessions, also if they have the same
// content: compare pointers.
type Certificate struct {
	id   string // identifies the content
	pair tls.Certificate
}

// NewCertificate returns the client certificate that PEM texts contain. The certificate
// comes first in its chain, and the key must match it.
func NewCertificate(chain, privateKey []byte) (*Certificate, error) {
	pair, err := tls.X509KeyPair(chain, privateKey)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, der := range pair.Certificate {
		_, _ = sum.Write(der) // never fails
	}
	return &Certificate{id: hex.EncodeToString(sum.Sum(nil)), pair: pair}, nil
}

// String returns what identifies the certificate. It hides the key.
func (c *Certificate) String() string { return "certificate " + c.id }

// GoString hides the key.
func (c *Certificate) GoString() string { return c.String() }

// present has a handshake present the certificate if the target asks for one, whatever
// authorities it names: some name none, or others than they accept.
func (c *Certificate) present(cfg *tls.Config) {
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.pair, nil }
}
