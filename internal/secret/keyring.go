package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// keySize is the size of a key, in bytes.
	keySize = 32
	// maxKeys and maxKeyFile bound a key file: how many keys it has, and its size
	// in bytes.
	maxKeys    = 16
	maxKeyFile = 16 << 10
	// maxKeyID is the length of the id of a key.
	maxKeyID = 8
	// sealed begins every encrypted value. An id of the key and the ciphertext
	// follow, separated by a colon.
	sealed = "enc1:"
)

// ErrNoKey reports that there is no key to encrypt with.
var ErrNoKey = errors.New("there is no key: start the service with --secrets-key-file")

// UnknownKeyError reports that a value is encrypted with a key that is not in
// the key file.
type UnknownKeyError struct {
	ID string // of the key
}

func (e *UnknownKeyError) Error() string {
	return "it is encrypted with the key " + e.ID + ", which the file of --secrets-key-file does not have"
}

// errDamaged reports that a value is not what was encrypted for its record.
var errDamaged = errors.New("its encrypted value is damaged, or belongs to another record")

// Keyring holds the keys of a file. The first encrypts, all decrypt. It reads
// the file again when it has changed. A nil Keyring has no keys. It is safe for
// concurrent use.
type Keyring struct {
	path string

	mu    sync.Mutex
	keys  []key
	stamp fileStamp
}

type key struct {
	id   string
	aead cipher.AEAD
}

// fileStamp identifies a version of a file.
type fileStamp struct {
	modified time.Time
	size     int64
}

// NewKey returns a new random key as a line of a key file.
func NewKey() string {
	b := make([]byte, keySize)
	_, _ = rand.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}

// OpenKeyring reads the keys of a file: one in each line, base64 of 32 bytes.
// Empty lines and lines that begin with # are ignored.
func OpenKeyring(path string) (*Keyring, error) {
	k := &Keyring{path: path}
	if err := k.read(); err != nil {
		return nil, fmt.Errorf("--secrets-key-file: %w", err)
	}
	return k, nil
}

// read reads the file. Called with mu held, except by OpenKeyring.
func (k *Keyring) read() error {
	file, err := os.Open(k.path)
	if err != nil {
		return fmt.Errorf("the key file can't be read: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("the key file can't be read: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	if err != nil {
		return fmt.Errorf("the key file can't be read: %w", err)
	}
	keys, err := parseKeys(text)
	if err != nil {
		return fmt.Errorf("%s: %w", k.path, err)
	}
	k.keys, k.stamp = keys, fileStamp{info.ModTime(), info.Size()}
	return nil
}

// parseKeys reads the text of a key file. Its errors don't repeat any of it.
func parseKeys(text []byte) ([]key, error) {
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("a key file has at most %d bytes", maxKeyFile)
	}
	var keys []key
	number := 0
	for line := range bytes.Lines(text) {
		number++
		encoded := strings.TrimSpace(string(line))
		if encoded == "" || strings.HasPrefix(encoded, "#") {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(raw) != keySize {
			return nil, fmt.Errorf("line %d is not a key: a key is the base64 of %d bytes, as punctual secrets new-key prints it", number,
				keySize)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, fmt.Errorf("preparing the key of line %d: %w", number, err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("preparing the key of line %d: %w", number, err)
		}
		sum := sha256.Sum256(append([]byte("punctual key id\x00"), raw...))
		keys = append(keys, key{hex.EncodeToString(sum[:4]), aead})
	}
	switch {
	case len(keys) == 0:
		return nil, errors.New("there is no key in it; punctual secrets new-key prints one")
	case len(keys) > maxKeys:
		return nil, fmt.Errorf("it has %d keys; at most %d are supported: remove those that are no longer needed", len(keys), maxKeys)
	}
	return keys, nil
}

// refresh reads the file again if it has changed. If it can't be read, the keys
// read before stay.
func (k *Keyring) refresh() {
	info, err := os.Stat(k.path)
	if err != nil || (fileStamp{info.ModTime(), info.Size()}) == k.stamp {
		return
	}
	_ = k.read() // what is being written is read later
}

// First returns the id of the key that encrypts; "" for a nil Keyring.
func (k *Keyring) First() string {
	if k == nil {
		return ""
	}
	return k.first().id
}

// Seal encrypts a text for a record. It returns ErrNoKey for a nil Keyring.
func (k *Keyring) Seal(record, text string) (string, error) {
	if k == nil {
		return "", ErrNoKey
	}
	first := k.first()
	sum := first.aead.Seal(nil, nil, []byte(text), []byte(record))
	return sealed + first.id + ":" + base64.StdEncoding.EncodeToString(sum), nil
}

// SealBytes encrypts bytes for a record, in a form that is 42 bytes longer. The
// Keyring must not be nil.
func (k *Keyring) SealBytes(record string, b []byte) []byte {
	first := k.first()
	head := sealed + first.id + ":"
	out := append(make([]byte, 0, len(head)+len(b)+first.aead.Overhead()), head...)
	return first.aead.Seal(out, nil, b, []byte(record))
}

// OpenBytes decrypts what SealBytes encrypted for a record. Its errors are those of
// Open.
func (k *Keyring) OpenBytes(record string, b []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(b, []byte(sealed))
	id, sum, cut := bytes.Cut(rest, []byte(":"))
	if !ok || !cut || len(id) > maxKeyID {
		return nil, errDamaged
	}
	found, known := k.find(string(id))
	if !known {
		return nil, &UnknownKeyError{string(id)}
	}
	opened, err := found.aead.Open(nil, nil, sum, []byte(record))
	if err != nil {
		return nil, errDamaged
	}
	return opened, nil
}

// first returns the key that encrypts.
func (k *Keyring) first() key {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refresh()
	return k.keys[0]
}

// Open decrypts what Seal encrypted for a record. Its errors don't contain any
// of it: an UnknownKeyError, or one that says that the value is damaged.
func (k *Keyring) Open(record, value string) (string, error) {
	rest, ok := strings.CutPrefix(value, sealed)
	id, encoded, cut := strings.Cut(rest, ":")
	if !ok || !cut {
		return "", errDamaged
	}
	found, known := k.find(id)
	if !known {
		return "", &UnknownKeyError{id}
	}
	sum, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", errDamaged
	}
	text, err := found.aead.Open(nil, nil, sum, []byte(record))
	if err != nil {
		return "", errDamaged
	}
	return string(text), nil
}

// Has reports whether the key that encrypted a value is known.
func (k *Keyring) Has(value string) bool {
	_, known := k.find(keyOf(value))
	return known
}

func (k *Keyring) find(id string) (key, bool) {
	if k == nil {
		return key{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for try := range 2 {
		if try == 1 {
			k.refresh()
		}
		for _, known := range k.keys {
			if known.id == id {
				return known, true
			}
		}
	}
	return key{}, false
}

// isSealed reports whether a value is encrypted.
func isSealed(value string) bool { return strings.HasPrefix(value, sealed) }

// keyOf returns the id of the key that encrypted a value; "" if it is not
// encrypted.
func keyOf(value string) string {
	rest, ok := strings.CutPrefix(value, sealed)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, ":")
	return id
}
