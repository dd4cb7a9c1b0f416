package records

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// CompletionAccount implements store.Completions.
func (r *Records) CompletionAccount(ctx context.Context, token job.TokenHash) (account int64, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL: `SELECT account FROM completions WHERE token = $1`, Args: []any{token[:]},
		Start: func() { account = 0 }, Row: into(&account),
	})
	if err == nil && account == 0 {
		err = fault.NoSuch("completion")
	}
	return account, err
}

// CompletionSeal implements store.Completions.
func (r *Records) CompletionSeal(ctx context.Context, token job.TokenHash, sealed []byte) error {
	return r.write(ctx, Query{
		SQL:  `UPDATE completions SET sealed = $1 WHERE token = $2 AND state < $3`,
		Args: []any{sealed, token[:], int64(job.CompletionOver)}, None: fault.NoSuch("completion"),
	})
}

// CompletionsOverdue implements store.Completions.
func (r *Records) CompletionsOverdue(ctx context.Context, limit int) (tokens []job.TokenHash, err error) {
	err = r.engine.Read(ctx, Queue, Query{
		SQL: `SELECT token FROM completions INDEXED BY completions_deadline
			WHERE deadline IS NOT NULL AND deadline <= $1 ORDER BY deadline LIMIT $2`,
		Args: []any{r.engine.Now(), limit}, Start: func() { tokens = nil },
		Row: func(row Row) error {
			var token []byte
			err := row.Scan(&token)
			tokens = append(tokens, job.TokenHash(token))
			return err
		},
	})
	return tokens, err
}

// CompletionDeadline implements store.Completions.
func (r *Records) CompletionDeadline(ctx context.Context) (deadline time.Time, err error) {
	err = r.engine.Read(ctx, Queue, Query{
		SQL:   `SELECT deadline FROM completions INDEXED BY completions_deadline WHERE deadline IS NOT NULL ORDER BY deadline LIMIT 1`,
		Start: func() { deadline = time.Time{} }, Row: into(&deadline),
	})
	return deadline, err
}
