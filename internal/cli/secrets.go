package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/store"
)

type secretsCommand struct {
	List      secretsList   `cmd:"" help:"List secrets for headers, without their values."`
	Set       secretsSet    `cmd:"" help:"Store a secret for headers. Its value is typed, or read from standard input."`
	Delete    secretsDelete `cmd:"" help:"Delete secrets that no unfinished job uses."`
	NewKey    secretsNewKey `cmd:"" help:"Print a new random key for a key file."`
	RotateKey secretsRotate `cmd:"" help:"Encrypt secrets with the first key of the key file, also while the service runs; hidden parts of jobs keep their key."`
}

// secretsFlag is the flag of commands that read or write secrets.
type secretsFlag struct {
	SecretsKeyFile string `setting:"" placeholder:"FILE" help:"File with the keys that secrets are encrypted with, one in each line; the first encrypts."`
}

type secretsNewKey struct{}

// Run prints a key.
func (secretsNewKey) Run(env *environment) error {
	_, err := fmt.Fprintln(env.out, secret.NewKey())
	return err
}

type secretsRotate struct {
	recordsFlags
}

type rotatedView struct {
	Reencrypted int      `json:"reencrypted"`
	Current     int      `json:"current"` // now encrypted with the first key
	Unreadable  int      `json:"unreadable"`
	UnknownKeys []string `json:"unknown_keys"` // that unreadable ones are encrypted with
}

// Run encrypts all secrets with the first key.
func (c *secretsRotate) Run(env *environment) error {
	if c.SecretsKeyFile == "" {
		return errors.New("give the key file with --secrets-key-file; its first key is the new one")
	}
	report, err := app.RotateKey(env.ctx, c.DatabaseURL, c.SecretsKeyFile, env.awaitingStore)
	if err != nil {
		return err
	}
	if report.Encrypted > 0 {
		err := c.withStore(env, func(_ context.Context, s store.Store) error {
			env.record(s, job.Owner{}, audit.SecretsReencrypted, counted(report.Encrypted, "value", "values"))
			return nil
		})
		if err != nil {
			return err
		}
	}
	if c.JSON {
		if err := printJSON(env.out, rotatedView{report.Encrypted, report.Current, report.Unreadable,
			append([]string{}, report.Unknown...)}); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintf(env.out, "encrypted with the first key: %d just now, %d in all\n", report.Encrypted,
		report.Current); err != nil {
		return err
	}
	if report.Unreadable > 0 {
		return fmt.Errorf("%s can't be decrypted with the keys of %s (keys %s); add the keys they were encrypted with, then run this again",
			counted(report.Unreadable, "secret", "secrets"), c.SecretsKeyFile, strings.Join(report.Unknown, ", "))
	}
	return nil
}
