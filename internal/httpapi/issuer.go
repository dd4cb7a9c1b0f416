package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/issuer"
)

// discovery serves the document that describes the issuer of tokens.
func (s *Server) discovery(c *call) error {
	return s.publish(c, func(context.Context) ([]byte, error) { return s.Issuer.Discovery() })
}

// publicKeys serves the issuer's public keys.
func (s *Server) publicKeys(c *call) error {
	return s.publish(c, func(ctx context.Context) ([]byte, error) { return s.Issuer.JWKS(ctx) })
}

// publish serves a document that anybody may read and keep for a while.
func (s *Server) publish(c *call, document func(context.Context) ([]byte, error)) error {
	if s.Issuer == nil {
		return fault.New(fault.NotFound, "this service issues no tokens; the operator can start it with --public-url and --secrets-key-file")
	}
	text, err := document(c.r.Context())
	if err != nil {
		return fmt.Errorf("encoding a document of the issuer: %w", err)
	}
	h := c.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(issuer.MaxAge/time.Second)))
	h.Set("Access-Control-Allow-Origin", "*")
	c.WriteHeader(http.StatusOK)
	_, _ = c.Write(text) // the client may be gone
	return nil
}
