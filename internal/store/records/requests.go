package records

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// requests are read and deleted here; creates store them with their jobs.
var requests = Table[store.Request]{
	Name: "requests", Key: []string{"account", "id"},
	Columns: []Column[store.Request]{
		{"account", func(r *store.Request) any { return &r.Account }},
		{"id", func(r *store.Request) any { return &r.ID }},
		{"digest", func(r *store.Request) any { return &r.Digest }},
		{"job", func(r *store.Request) any { return &r.Job }},
		{"expires_at", func(r *store.Request) any { return &r.ExpiresAt }},
	},
}

// RequestPage implements store.Requests.
func (r *Records) RequestPage(ctx context.Context, owner job.Owner, after uuid.UUID, limit int) ([]*store.Request, error) {
	return read(ctx, r, Background, &requests, `WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3`, owner.Number, after, limit)
}

// RequestPrune implements store.Requests.
func (r *Records) RequestPrune(ctx context.Context, expired time.Time, limit int) (int, error) {
	return r.prune(ctx, requests.Name, requests.Key,
		`WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED`, expired, limit)
}
