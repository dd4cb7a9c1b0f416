package service

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// leavingStore has one run with one job, and can't be reached right after the run ended.
type leavingStore struct {
	store.Store
	run    workflow.Run
	away   bool
	looked int
}

func (s *leavingStore) Now() time.Time { return time.Unix(1, 0) }

func (s *leavingStore) RunApply(_ context.Context, w *store.RunWrite) ([]store.Inserted, error) {
	run := s.run
	c, err := w.Decide(&store.RunSnapshot{Now: s.Now(), Runs: map[string]*workflow.Run{run.ID: &run}})
	if err == nil && c != nil {
		s.run = *c.Changed[0]
	}
	return nil, err
}

func (s *leavingStore) RunJobs(context.Context, int64, string, int, int) (jobs []uuid.UUID, positions []int, err error) {
	if s.away {
		return nil, nil, fault.Unreachable(nil)
	}
	return []uuid.UUID{{1}}, []int{0}, nil
}

func (s *leavingStore) JobGet(context.Context, job.Owner, job.Ref) (*job.Job, error) {
	s.looked++
	return &job.Job{State: job.Cancelled}, nil
}

// TestCancelRun_AgainCancelsTheJobsThatAreLeft: a call that failed when the run had ended
// is repeated by its client.
func TestCancelRun_AgainCancelsTheJobsThatAreLeft(t *testing.T) {
	s := &leavingStore{run: workflow.Run{ID: "wfr_a", State: workflow.Started}, away: true}
	m := New(Config{Store: s, Metrics: metrics.New("test")})
	defer m.Close()
	if _, err := m.CancelRun(t.Context(), job.Owner{Number: 1}, "wfr_a"); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("while the store is away: %v", err)
	}
	s.away = false
	if cancelled, err := m.CancelRun(t.Context(), job.Owner{Number: 1}, "wfr_a"); cancelled || err != nil || s.looked != 1 {
		t.Errorf("again: cancelled %t, %v, %d jobs", cancelled, err, s.looked)
	}
}
