package app

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pemPair returns a certificate with a serial number, and its key.
func pemPair(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

func TestCertificate_IsReadAgainWhenItsFilesChange(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certPath, keyPath := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	replace := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path+".new", text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	cert, key := pemPair(t, 1)
	replace(certPath, cert)
	replace(keyPath, key)
	var logged bytes.Buffer
	c, err := loadCertificate(certPath, keyPath, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	now := c.now()
	c.now = func() time.Time { return now }
	want := func(serial int64, when string) {
		t.Helper()
		if got, err := c.get(nil); err != nil || got.Leaf.SerialNumber.Int64() != serial {
			t.Errorf("%s: certificate %v is served, %v; want %d", when, got.Leaf.SerialNumber, err, serial)
		}
	}
	cert, key = pemPair(t, 2)
	replace(certPath, cert)
	want(1, "within a second of the last look")
	now = now.Add(certificateEvery)
	want(1, "while the key is still the old one")
	if !strings.Contains(logged.String(), "can't be used") {
		t.Errorf("the log has %q", &logged)
	}
	replace(keyPath, key)
	now = now.Add(certificateEvery)
	want(2, "when both were replaced")
	if err := os.Remove(certPath); err != nil {
		t.Fatal(err)
	}
	now = now.Add(certificateEvery)
	want(2, "without a file")
}
