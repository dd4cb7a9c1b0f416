package httpapi

import (
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// own wraps handlers of account settings and refuses the public key, which
// everyone may know.
func own(handle handler) handler {
	return func(s *Server, c *call) error {
		if c.caller.Public {
			return auth.SharedKey()
		}
		return handle(s, c)
	}
}

func (s *Server) listKeys(c *call) error {
	keys, err := s.Auth.Keys(c.r.Context(), c.owner.Number)
	if err != nil {
		return err
	}
	return writeList(c, keys, func(b []byte, k *identity.Key) []byte { return append(appendKey(b, k), '}') })
}

// appendKey appends a key's record without its closing brace.
func appendKey(b []byte, k *identity.Key) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, k.ID.String()...)
	b = append(b, `","name":`...)
	b = rawjson.AppendText(b, k.Name)
	b = append(b, `,"prefix":`...)
	b = rawjson.AppendText(b, k.Prefix)
	b = rawjson.AppendText(append(b, `,"scope":`...), string(k.Scope))
	b = append(b, `,"cidrs":[`...)
	for i, cidr := range k.CIDRs {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(b, cidr)
	}
	b = appendInstant(append(b, `],"created_at":`...), k.CreatedAt)
	b = appendInstant(append(b, `,"expires_at":`...), k.ExpiresAt)
	b = appendInstant(append(b, `,"last_used_at":`...), k.LastUsedAt)
	b = appendInstant(append(b, `,"revoked_at":`...), k.RevokedAt)
	return appendTextOrNull(append(b, `,"created_by":`...), k.MadeBy)
}

// appendInstant appends a time, or null for the zero time.
func appendInstant(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, `null`...)
	}
	b = append(b, '"')
	return append(append(b, job.FormatTime(t)...), '"')
}

func (s *Server) createKey(c *call) error {
	spec, err := c.readKeySpec()
	if err != nil {
		return err
	}
	key, k, err := s.Auth.AddKey(c.r.Context(), c.owner, spec, c.actor())
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusCreated, func(b []byte) []byte {
		b = append(appendKey(b, k), `,"key":`...)
		return append(rawjson.AppendText(b, key), '}')
	})
}

func (s *Server) revokeKey(c *call) error {
	id, ok := job.ParseID(c.r.PathValue("key_id"))
	if !ok {
		return fault.NoSuch("key")
	}
	if err := s.Auth.RevokeKey(c.r.Context(), c.owner, id, c.caller.Key, c.actor()); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) listSecrets(c *call) error {
	a, err := s.Auth.CurrentAccount(c.r.Context(), c.owner.Number)
	if err != nil {
		return err
	}
	return c.writeSecrets(a)
}

func (s *Server) rotateSecret(c *call) error {
	a, err := s.Auth.Rotate(c.r.Context(), c.owner, c.actor())
	if err != nil {
		return err
	}
	return c.writeSecrets(a)
}

func (c *call) writeSecrets(a *identity.Account) error {
	secrets := make([]*identity.Secret, len(a.Secrets))
	for i := range a.Secrets {
		secrets[i] = &a.Secrets[i]
	}
	return writeList(c, secrets, func(b []byte, s *identity.Secret) []byte {
		b = append(b, `{"secret":`...)
		if s.Value == "" {
			b = append(b, `null`...) // it can't be decrypted
		} else {
			b = rawjson.AppendText(b, s.Value)
		}
		b = appendInstant(append(b, `,"created_at":`...), s.CreatedAt)
		return append(appendInstant(append(b, `,"expires_at":`...), s.ExpiresAt), '}')
	})
}
