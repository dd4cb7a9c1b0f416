package secret

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// HideAddress masks in an outcome the address at which its attempt is completed, and
// the token in it. An empty address masks nothing.
func HideAddress(address string, o job.Outcome) job.Outcome {
	if address == "" {
		return o
	}
	return newMask([]string{address, job.TokenOf(address)}).outcome(withoutCoded(o))
}

// The values that are sent with an attempt that its target completes are kept until it
// is over, so that every node can mask them in what the target reports, whatever has
// become of the secrets and tokens meanwhile. They are encrypted with the token by
// which the attempt is completed: the store has only a hash of it, and each report
// brings it along.

// sentWith returns the cipher for the values sent with an attempt.
func sentWith(token string) (cipher.AEAD, error) {
	h := hmac.New(sha256.New, []byte(token))
	_, _ = h.Write([]byte("punctual values sent with an attempt"))
	block, err := aes.NewCipher(h.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// apartValues separates sealed values, which have no line breaks.
const apartValues = "\n"

// sealSent encrypts the values that are sent with an attempt.
func sealSent(token string, values []string) ([]byte, error) {
	aead, err := sentWith(token)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, []byte(strings.Join(values, apartValues)), nil), nil
}

// openSent decrypts what sealSent encrypted.
func openSent(token string, sealed []byte) ([]string, error) {
	aead, err := sentWith(token)
	if err != nil {
		return nil, err
	}
	text, err := aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, errDamaged
	}
	return strings.Split(string(text), apartValues), nil
}

// keep stores the values that are about to be sent, if the target can report about the
// attempt. They are part of the header, which bounds their size.
func (s *sending) keep(ctx context.Context, request *execute.Request) *job.Failure {
	fresh := slices.DeleteFunc(slices.Clone(s.sent),
		func(value string) bool { return len(value) < minMasked || slices.Contains(s.kept, value) })
	if request.Complete == "" || len(fresh) == 0 {
		return nil
	}
	s.kept = append(s.kept, fresh...)
	token := job.TokenOf(request.Complete)
	hash, _ := job.HashToken(token)
	sealed, err := sealSent(token, s.kept)
	if err == nil {
		err = s.vault.Records.CompletionSeal(ctx, hash, sealed)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return stopped(ctx)
	case fault.CodeOf(err) == fault.NotFound:
		return &job.Failure{Kind: job.KindCancelled, Message: "the job was cancelled before the request was sent"}
	}
	return &job.Failure{
		Kind: job.KindInterrupted, Message: "the values of secrets could not be kept for the report of the target; the attempt will be retried",
		Wait: unreadWait, Unsent: true,
	}
}

// MaskReport masks in what a target reports about an attempt the token by which it
// reports, the values that were sent with the attempt, and those that the secrets
// have now which the job's headers name. A nil Vault masks the token only.
func (v *Vault) MaskReport(ctx context.Context, token string, sealed []byte, owner job.Owner, names []string, r *job.Report) error {
	values := []string{token}
	if len(sealed) > 0 {
		sent, err := openSent(token, sealed)
		if err != nil {
			return fmt.Errorf("decrypting the values that were sent with an attempt: %w", err)
		}
		values = append(values, sent...)
	}
	if v != nil && v.Keys != nil && len(names) > 0 {
		current, err := v.current(ctx, owner, names)
		if err != nil {
			return err
		}
		values = append(values, current...)
	}
	m := newMask(values)
	r.Result, r.Error, r.Message = m.json(r.Result), m.reason(r.Error), m.reason(r.Message)
	return nil
}

// current returns the values that secrets have now, as far as this node knows them.
func (v *Vault) current(ctx context.Context, owner job.Owner, names []string) ([]string, error) {
	found, err := v.Records.SecretsNamed(ctx, owner.Number, names)
	if err != nil {
		return nil, err
	}
	var values []string
	for _, h := range found {
		c, err := v.open(owner, h)
		switch {
		case err != nil: // a value that can't be decrypted can't be compared
		case c.Certificate != nil: // is never sent as text
		case c.AccessKey != nil:
			values = append(values, c.AccessKey.Secret, c.AccessKey.SessionToken)
		case c.OAuth2 == nil:
			values = append(values, c.Value)
		default:
			values = append(values, c.OAuth2.ClientSecret, v.tokens.known(tokenKey{owner.Number, h.Name, h.UpdatedAt.UnixMicro()}))
		}
	}
	return values, nil
}
