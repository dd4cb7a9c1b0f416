package watch

import (
	"context"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// recordingStore is a store that records the outcomes of jobs for alerts.
type recordingStore struct {
	store.Store
	recorder *Recorder
}

// NewStore returns a store that records the outcomes of jobs for a Watcher's
// alerts.
func NewStore(s store.Store, w *Watcher) store.Store {
	return recordingStore{s, &Recorder{Watcher: w, Store: s}}
}

// QueueFinish implements store.Queue.
func (s recordingStore) QueueFinish(ctx context.Context, items []store.Finish) ([]bool, error) {
	return s.recorder.QueueFinish(ctx, items)
}

// JobChange implements store.Jobs.
func (s recordingStore) JobChange(ctx context.Context, owner job.Owner, id job.Ref, decide store.Decide) (*job.Job, error) {
	return s.recorder.JobChange(ctx, owner, id, decide)
}

// CompletionChange implements store.Completions.
func (s recordingStore) CompletionChange(ctx context.Context, c *job.Completion, decide store.Decide) (*job.Job, error) {
	return s.recorder.CompletionChange(ctx, c, decide)
}
