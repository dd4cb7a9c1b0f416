package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateEvery is how often the files of a certificate are looked at, at most: when
// clients connect.
const certificateEvery = time.Second

// certificate is a certificate in files, which are read again when they change.
type certificate struct {
	cert, key string // paths
	log       *slog.Logger
	now       func() time.Time

	mu     sync.Mutex
	loaded *tls.Certificate
	of     [2]os.FileInfo // the files as they were read
	looked time.Time
}

// loadCertificate reads a certificate.
func loadCertificate(cert, key string, log *slog.Logger) (*certificate, error) {
	c := &certificate{cert: cert, key: key, log: log, now: time.Now}
	of, err := c.stat()
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	c.loaded, c.of, c.looked = &pair, of, c.now()
	return c, nil
}

func (c *certificate) stat() (of [2]os.FileInfo, err error) {
	for i, path := range []string{c.cert, c.key} {
		if of[i], err = os.Stat(path); err != nil {
			return of, fmt.Errorf("looking for a new certificate: %w", err)
		}
	}
	return of, nil
}

// get is a tls.Config's GetCertificate. While files can't be read, or don't fit each other
// since only one has been replaced yet, the last certificate is used.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.looked) < certificateEvery {
		return c.loaded, nil
	}
	c.looked = now
	of, err := c.stat()
	if err == nil && same(of[0], c.of[0]) && same(of[1], c.of[1]) {
		return c.loaded, nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(c.cert, c.key)
	}
	if err != nil {
		c.log.Warn("the new certificate can't be used; the last one is served until its files are mended", "file", c.cert, "error", err)
		return c.loaded, nil
	}
	c.loaded, c.of = &pair, of
	c.log.Info("a new certificate is served", "file", c.cert, "expires", pair.Leaf.NotAfter.UTC())
	return c.loaded, nil
}

// same reports whether a file has not been changed or replaced.
func same(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
