package httpapi

import (
	"context"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/listen"
)

// listen connects a listener of the account.
func (s *Server) listen(c *call) error {
	o, err := c.listenOptions()
	if err != nil {
		return err
	}
	permit := func(ctx context.Context) error {
		caller, err := s.Auth.Authenticate(ctx, c.r.Header.Get("Authorization"), o.Address)
		if err != nil {
			return err
		}
		if err := caller.Permit(identity.ScopeJobs); err != nil {
			return err
		}
		return s.suspended(ctx, caller.Number)
	}
	return s.Listeners.Serve(c, c.r, o, permit)
}

// listenOptions reads the parameters of a listener.
func (c *call) listenOptions() (listen.Options, error) {
	q := c.query()
	o := listen.Options{Account: c.owner.Number, Address: edge.ClientAddr(c.r)}
	name, named := q.One("name")
	if named && !job.IsListenerName(name) {
		q.Refuse("name", job.ListenerRule)
	}
	tag, tagged := q.One("tag")
	if tagged && !job.IsTag(tag) {
		q.Refuse("tag", job.TagRule)
	}
	if !named && !tagged && len(q.Problems) == 0 {
		q.Refuse("name", "must be given, or tag must")
	}
	if instance := q.Text("instance"); instance != nil {
		o.Instance = *instance
	}
	o.Name, o.Tag = name, tag
	return o, fault.Refuse(q.Problems)
}
