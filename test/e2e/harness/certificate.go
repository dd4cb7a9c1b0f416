package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// certificates are what targets show and services trust: one authority and one
// certificate for this machine, for the whole test process.
type certificates struct {
	file string // PEM, for --target-ca-file
	leaf tls.Certificate
}

var authority = sync.OnceValues(func() (*certificates, error) {
	caKey, ca, err := certify(&x509.Certificate{
		Subject: pkix.Name{CommonName: "punctual tests"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	if err != nil {
		return nil, err
	}
	key, leaf, err := certify(&x509.Certificate{
		Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, caKey)
	if err != nil {
		return nil, err
	}
	dir, err := directory("tls")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	return &certificates{file: file, leaf: tls.Certificate{
		Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf,
	}}, nil
})

// certify creates a key and a certificate for it, signed by parent or by
// itself.
func certify(c, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	c.SerialNumber = serial
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(48*time.Hour)
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return key, made, err
}

// TLSConfig returns the configuration of a TLS server that the service trusts,
// for tests that serve something else than HTTP.
func TLSConfig(t testing.TB) *tls.Config {
	t.Helper()
	ca, err := authority()
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{ca.leaf}, MinVersion: tls.VersionTLS12}
}
