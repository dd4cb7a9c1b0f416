package httpapi

import (
	"math"
	"net/http"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func (s *Server) listHeaderSecrets(c *call) error {
	q := c.query()
	limit, offset := q.whole("limit", 1, 100, 100), q.whole("offset", 0, math.MaxInt32, 0)
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	secrets, err := s.Secrets.List(c.r.Context(), c.owner)
	if err != nil {
		return err
	}
	secrets = secrets[min(offset, len(secrets)):]
	if len(secrets) > limit {
		secrets = secrets[:limit]
		c.linkOffset(limit, offset)
	}
	return writeList(c, secrets, appendHeaderSecret)
}

func (s *Server) getHeaderSecret(c *call) error {
	found, err := s.Secrets.Get(c.r.Context(), c.owner, c.r.PathValue("name"))
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return appendHeaderSecret(b, found) })
}

func (s *Server) putHeaderSecret(c *call) error {
	match, err := c.untagged("secret")
	if err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return withoutBody(err)
	}
	stored, created, err := s.Secrets.Put(c.r.Context(), c.owner, c.r.PathValue("name"), body, match.PutIf(), c.actor())
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.Header().Set("Location", "/api/secrets/"+stored.Name)
	}
	return c.writeRecord(status, func(b []byte) []byte { return appendHeaderSecret(b, stored) })
}

// withoutBody returns the error of reading the body of a secret without anything of
// that body, which errors repeat to show what is wrong.
func withoutBody(err error) error {
	const must = `send the secret as JSON, as in {"value": "…", "hosts": ["api.example.com"]}, with Content-Type: application/json`
	switch fault.CodeOf(err) {
	case fault.Unreadable:
		return fault.New(fault.Unreadable, "the body can't be read; "+must)
	case fault.Invalid:
		return fault.Refuse([]fault.Problem{{Pointer: "#", Detail: "is not a secret; " + must}})
	}
	return err
}

func (s *Server) deleteHeaderSecret(c *call) error {
	err := c.untaggedDelete("secret", func() error {
		_, err := s.Secrets.Get(c.r.Context(), c.owner, c.r.PathValue("name"))
		return err
	})
	if err != nil {
		return err
	}
	if err := s.Secrets.Delete(c.r.Context(), c.owner, c.r.PathValue("name"), c.actor()); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}

// appendHeaderSecret appends a secret without its value.
func appendHeaderSecret(b []byte, h *identity.HeaderSecret) []byte {
	b = rawjson.AppendText(append(b, `{"name":`...), h.Name)
	b = append(b, `,"hosts":[`...)
	for i, host := range h.Hosts {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(b, host)
	}
	b = append(b, ']')
	if h.Kind != "" && h.Kind != job.SecretForHeaders { // what is for headers has the keys that it always had
		b = rawjson.AppendText(append(b, `,"kind":`...), string(h.Kind))
	}
	if h.HTTP {
		b = append(b, `,"http":true`...)
	}
	b = appendInstant(append(b, `,"created_at":`...), h.CreatedAt)
	return append(appendInstant(append(b, `,"updated_at":`...), h.UpdatedAt), '}')
}
