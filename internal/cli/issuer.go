package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/issuer"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

type issuerCommand struct {
	Rotate issuerRotate `cmd:"" help:"Make a new key for tokens, also while the service runs. It is published at once and signs ten minutes later; the old one stays published for a day after that."`
}

type issuerRotate struct {
	recordsFlags
	Compromised bool `type:"switch" help:"The old keys may be known to others: the new key signs at once, and the old ones are not published any more."`
}

type issuerView struct {
	KeyID      string  `json:"key_id"`
	SignsAt    *string `json:"signs_at"`
	OldKeysEnd *string `json:"old_keys_end"`
}

// Run makes a new key for tokens.
func (c *issuerRotate) Run(env *environment) error {
	if c.SecretsKeyFile == "" {
		return errors.New("give the service's key file with --secrets-key-file; the new key is encrypted with its first key")
	}
	var made *issuer.Rotation
	err := c.withStore(env, func(ctx context.Context, s store.Store) (err error) {
		if made, err = issuer.Rotate(ctx, s, s.Now().Truncate(time.Microsecond), c.Compromised); err != nil {
			return err
		}
		env.record(s, job.Owner{}, audit.IssuerRotated, made.KeyID)
		return nil
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env.out, issuerView{made.KeyID, viewTime(made.SignsAt), viewTime(made.OldEnd)})
	}
	_, err = fmt.Fprintf(env.out, "key      %s\nsigns    from %s\nold keys published until %s\n", made.KeyID, job.FormatTime(made.SignsAt),
		job.FormatTime(made.OldEnd))
	return err
}
