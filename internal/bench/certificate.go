package bench

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

// authority signs the certificates of targets.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	leafKey     *ecdsa.PrivateKey // of all targets: making thousands takes long
}

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "EC PRIVATE KEY"
)

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "punctual bench"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		// It vouches for this machine only, should its key get lost.
		PermittedIPRanges:           []*net.IPNet{{IP: net.IPv4(127, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)}},
		PermittedDNSDomainsCritical: true,
	}
	der, err := sign(template, template, &key.PublicKey, key, 365*24*time.Hour)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return completeAuthority(certificate, key)
}

func completeAuthority(certificate *x509.Certificate, key *ecdsa.PrivateKey) (*authority, error) {
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return &authority{certificate, key, leafKey}, err
}

func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey, lasts time.Duration) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(lasts)
	return x509.CreateCertificate(rand.Reader, template, parent, public, signer)
}

// certify makes the certificate of a target at an address.
func (a *authority) certify(ip net.IP) (*tls.Certificate, error) {
	der, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "punctual bench target"}, IPAddresses: []net.IP{ip},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.certificate, &a.leafKey.PublicKey, a.key, 24*time.Hour)
	if err != nil {
		return nil, fmt.Errorf("making a target's certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.leafKey}, nil
}

// pem returns the authority's certificate as those who are to trust it want it.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: a.certificate.Raw})
}

// authorityIn reads the authority from a file, and makes it when there is none:
// a service that runs already can be made to trust it only across benches.
func authorityIn(file string) (*authority, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return writeAuthority(file)
	}
	if err != nil {
		return nil, fmt.Errorf("--authority can't be read: %w", err)
	}
	a, err := parseAuthority(text)
	if err != nil {
		return nil, fmt.Errorf("--authority %s was not made by this bench, or is too old (%w); name a file that does not exist, and start the service with it as --target-ca-file", file, err)
	}
	return a, nil
}

func writeAuthority(file string) (*authority, error) {
	a, err := newAuthority()
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(a.key)
	if err != nil {
		return nil, err
	}
	text := append(a.pem(), pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der})...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("--authority can't be written: %w", err)
	}
	return a, nil
}

func parseAuthority(text []byte) (*authority, error) {
	first, rest := pem.Decode(text)
	second, _ := pem.Decode(rest)
	if first == nil || second == nil || first.Type != certificateBlock || second.Type != keyBlock {
		return nil, errors.New("it does not hold a certificate and its key")
	}
	certificate, err := x509.ParseCertificate(first.Bytes)
	if err != nil {
		return nil, err
	}
	if time.Until(certificate.NotAfter) < 24*time.Hour {
		return nil, errors.New("its certificate is about to end")
	}
	key, err := x509.ParseECPrivateKey(second.Bytes)
	if err != nil {
		return nil, err
	}
	if !key.PublicKey.Equal(certificate.PublicKey) {
		return nil, errors.New("its key is another certificate's")
	}
	return completeAuthority(certificate, key)
}
