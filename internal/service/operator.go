package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/operator"
)

// The methods below are for operators: they are not restricted to an account, and
// their callers must check who asks.

// Ready returns an error if the store can't be reached or written.
func (s *Service) Ready(ctx context.Context) error { return s.Operations.Ping(ctx) }

// Accounts reads a page of all accounts in order of creation, without their
// secrets and without deleted accounts. The order and offset of q are ignored.
func (s *Service) Accounts(ctx context.Context, q job.ListQuery) (job.Page[*identity.Account], error) {
	q.Order, q.Offset = job.Order{}, 0
	size := func(*identity.Account) int { return 0 }
	position := func(a *identity.Account) (int64, uuid.UUID) { return a.Number, uuid.Nil }
	return job.ReadPage(q, size, position, func(list job.ListQuery) ([]*identity.Account, error) {
		return s.Operations.AccountPage(ctx, list.After, list.Limit)
	})
}

// RecordCounts counts the records of an account, each kind up to limit.
func (s *Service) RecordCounts(ctx context.Context, account int64, limit int) (identity.RecordCounts, error) {
	return s.Operations.AccountSize(ctx, account, limit)
}

// Suspend suspends an account at a time, for a reason that its owner can see; the
// zero time resumes it. It returns a NotFound fault if there is no such account.
func (s *Service) Suspend(ctx context.Context, account int64, at time.Time, reason string) error {
	return s.Operations.AccountSuspend(ctx, account, at, reason)
}

// Nodes returns the nodes that are alive.
func (s *Service) Nodes(ctx context.Context) ([]operator.Node, error) {
	return s.Operations.NodeList(ctx)
}

// BlockedTargets returns the targets that no account may call, ordered by target.
func (s *Service) BlockedTargets(ctx context.Context) ([]operator.TargetBlock, error) {
	return s.Operations.TargetBlocks(ctx)
}
