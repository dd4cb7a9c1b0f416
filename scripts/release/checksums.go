package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// checksums writes the hashes of all files in the form that sha256sum checks.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out) // by name
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(r.out, marker), func(w io.Writer) error {
		for _, e := range entries {
			if e.Name() == marker {
				continue
			}
			sum, err := hashOf(filepath.Join(r.out, e.Name()))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s  %s\n", sum, e.Name()); err != nil {
				return err
			}
		}
		return nil
	})
}

// hashOf returns the SHA-256 of a file in hexadecimal.
func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
