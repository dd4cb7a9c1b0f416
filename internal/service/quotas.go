package service

import (
	"context"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// insert stores a new job within the limits of its account.
func (m *Service) insert(ctx context.Context, n store.NewJob) (store.Inserted, error) {
	if m.Quotas == nil {
		return m.creates.Do(ctx, n)
	}
	account := n.Job.Owner.Number
	limits, caps, err := m.Quotas.Admit(ctx, account)
	if err != nil {
		if fault.CodeOf(err) == fault.Forbidden {
			m.Metrics.Refused("suspended")
		}
		return store.Inserted{}, err
	}
	creates := m.creates
	if n.Caps = caps; caps != (store.Caps{}) {
		creates = m.capped
	}
	inserted, err := creates.Do(ctx, n)
	switch {
	case err != nil:
	case inserted.Over != store.QuotaNone:
		m.Metrics.Refused(string(inserted.Over))
		err = limits.Exceeded(inserted.Over)
	case !inserted.Conflict:
		m.Quotas.Added(account, len(n.Job.Args))
	}
	return inserted, err
}
