package app

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// tellEvery is the pause between two reads of workflow runs whose ends other runs don't
// know of: usually they are told at once.
const tellEvery = time.Second

// tellInvokers tells workflow runs of the ends of those that they have invoked, until ctx
// ends.
func (n *Node) tellInvokers(ctx context.Context) {
	ownerOf := func(ctx context.Context, number int64) (job.Owner, error) {
		account, err := n.store.AccountOf(ctx, number)
		if err != nil {
			return job.Owner{}, err
		}
		return account.Owner, nil
	}
	for look := ctx; ctx.Err() == nil; look = store.Routine(ctx) {
		if err := n.service.TellInvokers(look, ownerOf); err != nil && ctx.Err() == nil {
			n.config.Log.Warn("telling workflow runs of the ends of others failed; retrying", "error", err)
			pause.For(ctx, 10*tellEvery)
		}
		pause.For(ctx, tellEvery)
	}
}
