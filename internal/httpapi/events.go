package httpapi

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/job"
)

// followEvents streams the account's events. It ignores a Last-Event-ID that is
// not a valid ID.
func (s *Server) followEvents(c *call) error {
	last, ok := job.ParseID(c.r.Header.Get("Last-Event-ID"))
	if !ok {
		last = uuid.Nil
	}
	stream, err := s.Events.Open(c.r.Context(), c.owner, edge.ClientAddr(c.r), last)
	if err != nil {
		return err
	}
	stream.Serve(c, c.r, func(ctx context.Context) error {
		caller, err := s.Auth.Authenticate(ctx, c.r.Header.Get("Authorization"), edge.ClientAddr(c.r))
		if err != nil {
			return err
		}
		return s.suspended(ctx, caller.Number)
	})
	return nil
}
