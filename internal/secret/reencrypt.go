package secret

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

// page is how many values are read and replaced at a time.
const page = 200

// Values is what Reencrypt needs of a store.
type Values interface {
	EncryptedSigning(ctx context.Context, after store.Encrypted, limit int) ([]store.Encrypted, error)
	EncryptedHeaders(ctx context.Context, after store.Encrypted, limit int) ([]store.Encrypted, error)
	EncryptedTokens(ctx context.Context, after store.Encrypted, limit int) ([]store.Encrypted, error)
	EncryptedReplace(ctx context.Context, values []store.Reencrypted) error
	SigningKeyPage(ctx context.Context, account, number int64, limit int) ([]identity.SigningKey, error)
	SigningKeyReplace(ctx context.Context, k *identity.SigningKey, private string) error
}

// Report is the result of Reencrypt.
type Report struct {
	Encrypted  int      // values encrypted now
	Current    int      // values that needed nothing
	Unreadable int      // values that can't be decrypted; they stay as they are
	Unknown    []string // the ids of the keys that these were encrypted with, as far as they aren't known
}

// Reencrypt encrypts stored values: those that are not encrypted and, with all,
// those that are encrypted with another key than the first of the Keyring. It
// can be interrupted and started again at any time, and runs beside nodes.
// With a nil Keyring it only counts.
func Reencrypt(ctx context.Context, s Values, keys *Keyring, all bool) (Report, error) {
	w := &reencryption{values: s, keys: keys, all: all, first: keys.First(), unknown: map[string]bool{}}
	for _, read := range []func(context.Context, store.Encrypted, int) ([]store.Encrypted, error){
		s.EncryptedSigning, s.EncryptedHeaders, s.EncryptedTokens,
	} {
		after := store.Encrypted{}
		for {
			found, err := read(ctx, after, page)
			if err != nil {
				return w.report, fmt.Errorf("reading encrypted values: %w", err)
			}
			if len(found) == 0 {
				break
			}
			after = found[len(found)-1]
			if err := w.replace(ctx, found); err != nil {
				return w.report, err
			}
		}
	}
	if err := w.replaceKeys(ctx); err != nil {
		return w.report, err
	}
	w.report.Unknown = slices.Sorted(maps.Keys(w.unknown))
	return w.report, nil
}

type reencryption struct {
	values  Values
	keys    *Keyring
	all     bool
	first   string
	report  Report
	unknown map[string]bool
}

// wants reports whether a value is to be encrypted, and counts it if not.
func (w *reencryption) wants(value string) bool {
	switch id := keyOf(value); {
	case id == w.first, id != "" && !w.all && w.keys.Has(value):
		w.report.Current++
		return false
	case id != "" && !w.keys.Has(value):
		w.report.Unreadable++
		w.unknown[id] = true
		return false
	}
	return true
}

// replaceKeys encrypts the private keys that sign.
func (w *reencryption) replaceKeys(ctx context.Context) error {
	account, number := int64(-1), int64(0)
	for {
		found, err := w.values.SigningKeyPage(ctx, account, number, page)
		if err != nil {
			return fmt.Errorf("reading signing keys: %w", err)
		}
		if len(found) == 0 {
			return nil
		}
		account, number = found[len(found)-1].Account, found[len(found)-1].Number
		for i := range found {
			if err := w.replaceKey(ctx, &found[i]); err != nil {
				return err
			}
		}
	}
}

func (w *reencryption) replaceKey(ctx context.Context, k *identity.SigningKey) error {
	if !w.wants(k.Private) {
		return nil
	}
	opened := []identity.SigningKey{*k}
	w.keys.OpenKeys(opened)
	if opened[0].Private == "" {
		w.report.Unreadable++
		return nil
	}
	sealed, err := w.keys.SealKey(opened[0])
	if err != nil {
		return err
	}
	if err := w.values.SigningKeyReplace(ctx, k, sealed.Private); err != nil {
		return fmt.Errorf("replacing a signing key: %w", err)
	}
	w.report.Encrypted++
	return nil
}

func (w *reencryption) replace(ctx context.Context, found []store.Encrypted) error {
	var replaced []store.Reencrypted
	for _, e := range found {
		if e.Tokens && e.Value == "" || !w.wants(e.Value) {
			continue
		}
		text, record := e.Value, recordOf(&e)
		if isSealed(e.Value) {
			var err error
			if text, record, err = w.keys.openStored(&e); err != nil {
				w.report.Unreadable++
				continue
			}
		}
		value, err := w.keys.Seal(record, text)
		if err != nil {
			return err
		}
		replaced = append(replaced, store.Reencrypted{Encrypted: e, New: value})
	}
	if len(replaced) == 0 {
		return nil
	}
	if err := w.values.EncryptedReplace(ctx, replaced); err != nil {
		return fmt.Errorf("replacing encrypted values: %w", err)
	}
	w.report.Encrypted += len(replaced)
	return nil
}
