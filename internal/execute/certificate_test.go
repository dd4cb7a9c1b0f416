package execute

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"
)

func FuzzNewCertificate(f *testing.F) {
	pair := certificate(f, nil)
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		f.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	f.Add(chain, key)
	f.Add(key, chain)
	f.Add(append(key, chain...), append(chain, key...))
	f.Add(chain[:len(chain)/2], key)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), key)
	f.Fuzz(func(t *testing.T, chain, key []byte) {
		c, err := NewCertificate(chain, key)
		if err != nil {
			if len(key) > 32 && bytes.Contains([]byte(err.Error()), key) {
				t.Error("the error shows the key")
			}
			return
		}
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		c.present(config)
		if got, err := config.GetClientCertificate(nil); err != nil || len(got.Certificate) == 0 || got.PrivateKey == nil {
			t.Errorf("the certificate presents %v, %v", got, err)
		}
	})
}
