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
	// reading: a handshake reads the files, and may change of.
	reading bool
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
// since only one has been replaced yet, the last certificate is used. One handshake reads
// them; the others need not wait for a slow disk.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	loaded, now := c.loaded, c.now()
	reads := !c.reading && now.Sub(c.looked) >= certificateEvery
	if reads {
		c.reading, c.looked = true, now
	}
	c.mu.Unlock()
	if !reads {
		return loaded, nil
	}
	found, of := c.read() // only one at a time changes c.of
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = false
	if found != nil {
		c.loaded, c.of = found, of
	}
	return c.loaded, nil
}

// read returns the certificate in the files; nil if there is no new one that can be used.
func (c *certificate) read() (*tls.Certificate, [2]os.FileInfo) {
	of, err := c.stat()
	if err == nil && same(of[0], c.of[0]) && same(of[1], c.of[1]) {
		return nil, of
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(c.cert, c.key)
	}
	if err != nil {
		c.log.Warn("the new certificate can't be used; the last one is served until its files are mended", "file", c.cert, "error", err)
		return nil, of
	}
	c.log.Info("a new certificate is served", "file", c.cert, "expires", pair.Leaf.NotAfter.UTC())
	return &pair, of
}

// same reports whether a file has not been changed or replaced.
func same(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
