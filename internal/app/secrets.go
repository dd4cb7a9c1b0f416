package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/store"
)

// openSecrets opens the key file, if there is one, and encrypts the signing
// secrets that are not encrypted. Values that it can't decrypt keep the node
// from nothing but using them; the log and a metric say how many there are.
func (n *Node) openSecrets(ctx context.Context) error {
	if file := n.config.SecretsKeyFile; file != "" {
		var err error
		if n.keys, err = secret.OpenKeyring(file); err != nil {
			return err
		}
	}
	n.sealed = &sealedStore{n.store, n.keys}
	report, err := secret.Reencrypt(ctx, n.store, n.keys, false)
	if err != nil {
		return fmt.Errorf("encrypting the signing secrets: %w", err)
	}
	if report.Encrypted > 0 {
		n.config.Log.Info("signing secrets were encrypted", "count", report.Encrypted)
	}
	if report.Unreadable > 0 {
		n.config.Log.Error("secrets can't be decrypted: attempts that need them fail with the kind secret; "+
			"add the keys they were encrypted with to the file of --secrets-key-file and restart",
			"count", report.Unreadable, "keys", strings.Join(report.Unknown, ","))
	}
	n.metrics.Gauge("punctual_secrets_unreadable", "Secrets that could not be decrypted when this node started.", nil,
		func() float64 { return float64(report.Unreadable) })
	return nil
}

// OpenSealed opens the database as OpenStore does for a command, and encrypts and
// decrypts signing secrets with the keys of a file; "" for none.
func OpenSealed(ctx context.Context, url, keyFile string, waiting func(cause error)) (store.Store, error) {
	var keys *secret.Keyring
	if keyFile != "" {
		var err error
		if keys, err = secret.OpenKeyring(keyFile); err != nil {
			return nil, err
		}
	}
	s, err := OpenStore(ctx, url, false, waiting)
	if err != nil {
		return nil, err
	}
	return &sealedStore{s, keys}, nil
}

// RotateKey encrypts all secrets of a database with the first key of a file. It
// works beside running nodes. Waiting is that of OpenStore.
func RotateKey(ctx context.Context, url, keyFile string, waiting func(cause error)) (report secret.Report, err error) {
	keys, err := secret.OpenKeyring(keyFile)
	if err != nil {
		return report, err
	}
	s, err := OpenStore(ctx, url, false, waiting)
	if err != nil {
		return report, err
	}
	defer func() {
		if closing := s.Close(); err == nil {
			err = closing
		}
	}()
	encrypted := 0
	// A node may have stored values meanwhile, or read the file later.
	for range rotatePasses {
		if report, err = secret.Reencrypt(ctx, s, keys, true); err != nil {
			return report, err
		}
		encrypted += report.Encrypted
		if report.Encrypted == 0 {
			break
		}
	}
	report.Encrypted, report.Current = encrypted, report.Current+report.Encrypted
	return report, nil
}

// rotatePasses is how often RotateKey looks at all values at most.
const rotatePasses = 5
