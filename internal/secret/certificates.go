package secret

import (
	"sync"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fair"
	"github.com/punctual-dev/punctual/internal/job"
)

// maxCertificateBytes bounds the certificates in memory.
const maxCertificateBytes = 16 << 20

// certificates keeps parsed certificates: requests with the same Certificate share
// connections. An account displaces its own, not those of others.
type certificates struct {
	mu   sync.Mutex // held while one is parsed, so that each is parsed once
	kept *fair.Cache[certificateKey, keptCertificate]
}

type certificateKey struct {
	account int64
	name    string
}

type keptCertificate struct {
	*execute.Certificate
	version int64 // of the secret
}

func newCertificates() *certificates {
	return &certificates{kept: fair.NewCache[certificateKey, keptCertificate](maxCertificateBytes)}
}

// get returns the certificate of a version of a secret. It parses it if it is not kept.
func (c *certificates) get(key certificateKey, version int64, content *clientCert) (*execute.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok := c.kept.Get(key); ok && kept.version == version {
		return kept.Certificate, nil
	}
	parsed, err := execute.NewCertificate([]byte(content.Chain), []byte(content.PrivateKey))
	if err != nil {
		return nil, err
	}
	// Parsed, it is larger than its text.
	c.kept.Put(key.account, key, keptCertificate{parsed, version}, int64(2*(len(content.Chain)+len(content.PrivateKey))))
	return parsed, nil
}

// Certificate returns the certificate that a secret had when it was used last, as far
// as it is in memory; else nil.
func (v *Vault) Certificate(owner job.Owner, name string) *execute.Certificate {
	kept, _ := v.certificates.kept.Get(certificateKey{owner.Number, name})
	return kept.Certificate
}
