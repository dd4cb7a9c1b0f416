package httpapi

import (
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// own wraps handlers of what belongs to an account itself: the public key, which
// everyone may know, opens none of it.
func own(handle handler) handler {
	return func(s *Server, c *call) error {
		if c.caller.Public {
			return fault.New(fault.Forbidden, "everybody shares the public key; make an account and use a key of its own")
		}
		return handle(s, c)
	}
}

func (s *Server) listKeys(c *call) error {
	keys, err := s.Store.KeyList(c.r.Context(), c.owner.Number)
	if err != nil {
		return err
	}
	return writeList(c, keys, func(b []byte, k *store.Key) []byte { return append(appendKey(b, k), '}') })
}

// appendKey adds a key's record without its closing brace.
func appendKey(b []byte, k *store.Key) []byte {
	b = append(b, `{"id":"`...)
	b = append(b, k.ID.String()...)
	b = append(b, `","name":`...)
	b = rawjson.AppendText(b, k.Name)
	b = append(b, `,"prefix":`...)
	b = rawjson.AppendText(b, k.Prefix)
	b = appendInstant(append(b, `,"created_at":`...), k.CreatedAt)
	b = appendInstant(append(b, `,"last_used_at":`...), k.LastUsedAt)
	return appendInstant(append(b, `,"revoked_at":`...), k.RevokedAt)
}

// appendInstant adds a time; null for the zero time.
func appendInstant(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, `null`...)
	}
	b = append(b, '"')
	return append(append(b, job.FormatTime(t)...), '"')
}

func (s *Server) createKey(c *call) error {
	name, err := c.readName()
	if err != nil {
		return err
	}
	key, k, err := auth.AddKey(c.r.Context(), s.Store, c.owner.Number, name, s.Store.Now())
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusCreated, func(b []byte) []byte {
		b = append(appendKey(b, k), `,"key":`...)
		return append(rawjson.AppendText(b, key), '}')
	})
}

// readName reads a body that is an object with an optional name.
func (c *call) readName() (name string, err error) {
	body, err := c.readBody()
	if err != nil {
		return "", err
	}
	var problems fault.Problems
	if body.Kind() != '{' {
		problems.Add(fault.Problem{Pointer: "#", Detail: "must be a JSON object"})
	}
	for _, m := range rawjson.Members(body) {
		switch {
		case m.Name != "name":
			problems.Add(fault.Problem{Pointer: job.Pointer(m.Name), Detail: "is not a known field; the only one is name"})
		case m.Value.Kind() == '"':
			name = rawjson.Text(m.Value)
		case !rawjson.IsNull(m.Value):
			problems.Add(fault.Problem{Pointer: "#/name", Detail: "must be a string"})
		}
	}
	return name, problems.Err()
}

func (s *Server) revokeKey(c *call) error {
	id, ok := job.ParseID(c.r.PathValue("key_id"))
	if !ok {
		return fault.NoSuch("key")
	}
	if err := s.Auth.RevokeKey(c.r.Context(), c.owner.Number, id, c.caller.Key); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) listSecrets(c *call) error {
	a, err := s.Store.AccountOf(c.r.Context(), c.owner.Number)
	if err != nil {
		return err
	}
	return c.writeSecrets(a)
}

func (s *Server) rotateSecret(c *call) error {
	a, err := s.Auth.Rotate(c.r.Context(), c.owner.Number)
	if err != nil {
		return err
	}
	return c.writeSecrets(a)
}

func (c *call) writeSecrets(a *store.Account) error {
	secrets := make([]*store.Secret, len(a.Secrets))
	for i := range a.Secrets {
		secrets[i] = &a.Secrets[i]
	}
	return writeList(c, secrets, func(b []byte, s *store.Secret) []byte {
		b = append(b, `{"secret":`...)
		b = rawjson.AppendText(b, s.Value)
		b = appendInstant(append(b, `,"created_at":`...), s.CreatedAt)
		return append(appendInstant(append(b, `,"expires_at":`...), s.ExpiresAt), '}')
	})
}
