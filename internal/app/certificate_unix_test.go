//go:build unix

package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestCertificate_NoHandshakeWaitsForTheReadOfAnother has files that take long to read.
func TestCertificate_NoHandshakeWaitsForTheReadOfAnother(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certPath, keyPath := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	cert, key := pemPair(t, 1)
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(os.WriteFile(certPath, cert, 0o600))
	try(os.WriteFile(keyPath, key, 0o600))
	c, err := loadCertificate(certPath, keyPath, slog.New(slog.DiscardHandler))
	try(err)
	now := c.now().Add(certificateEvery)
	c.now = func() time.Time { return now }
	cert, key = pemPair(t, 2)
	try(os.WriteFile(keyPath, key, 0o600))
	try(os.Remove(certPath))
	try(syscall.Mkfifo(certPath, 0o600))
	serial := func() int64 {
		got, err := c.get(nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		return got.Leaf.SerialNumber.Int64()
	}
	first := make(chan int64)
	go func() { first <- serial() }()
	pipe, err := os.OpenFile(certPath, os.O_WRONLY, 0) // waits until it is read
	try(err)
	if got := serial(); got != 1 {
		t.Errorf("while the files are read, certificate %d is served, want the last one", got)
	}
	_, err = pipe.Write(cert)
	try(err)
	try(pipe.Close())
	if got := <-first; got != 2 {
		t.Errorf("the handshake that read the files got certificate %d, want the new one", got)
	}
}
