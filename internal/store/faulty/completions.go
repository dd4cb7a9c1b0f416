package faulty

import (
	"context"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// CompletionGet implements store.Store.
func (s *Store) CompletionGet(ctx context.Context, token job.TokenHash) (*store.Awaited, error) {
	return get(ctx, s, "CompletionGet", func() (*store.Awaited, error) { return s.Store.CompletionGet(ctx, token) })
}

// CompletionAccount implements store.Store.
func (s *Store) CompletionAccount(ctx context.Context, token job.TokenHash) (int64, error) {
	return get(ctx, s, "CompletionAccount", func() (int64, error) { return s.Store.CompletionAccount(ctx, token) })
}

// CompletionOf implements store.Store.
func (s *Store) CompletionOf(ctx context.Context, owner job.Owner, number int64) (*job.Completion, error) {
	return get(ctx, s, "CompletionOf", func() (*job.Completion, error) { return s.Store.CompletionOf(ctx, owner, number) })
}

// CompletionChange implements store.Store.
func (s *Store) CompletionChange(ctx context.Context, c *job.Completion, decide store.Decide) (*job.Job, error) {
	return get(ctx, s, "CompletionChange", func() (*job.Job, error) { return s.Store.CompletionChange(ctx, c, decide) })
}

// CompletionSeal implements store.Store.
func (s *Store) CompletionSeal(ctx context.Context, token job.TokenHash, sealed []byte) error {
	return do(ctx, s, "CompletionSeal", func() error { return s.Store.CompletionSeal(ctx, token, sealed) })
}

// CompletionsOverdue implements store.Store.
func (s *Store) CompletionsOverdue(ctx context.Context, limit int) ([]job.TokenHash, error) {
	return get(ctx, s, "CompletionsOverdue", func() ([]job.TokenHash, error) { return s.Store.CompletionsOverdue(ctx, limit) })
}
