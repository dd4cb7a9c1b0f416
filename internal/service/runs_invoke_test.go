package service

import (
	"context"
	"slices"
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// unreportedStore has runs that have ended and whose invokers don't know it.
type unreportedStore struct {
	store.Store
	runs []*workflow.Run
}

func (s *unreportedStore) RunsUnreported(_ context.Context, account int64, id string, _ int) (page []*workflow.Run, err error) {
	for _, r := range s.runs {
		if r.Account > account || r.Account == account && r.ID > id {
			page = append(page, r)
		}
	}
	return page, nil
}

// TestTellInvokers_AFullAccountDelaysNoOthers: what each of its runs would be refused for is
// found out once, and one that fails alone hides no others.
func TestTellInvokers_AFullAccountDelaysNoOthers(t *testing.T) {
	s := &unreportedStore{runs: []*workflow.Run{{Account: 1, ID: "a"}, {Account: 1, ID: "b"}, {Account: 2, ID: "a"}, {Account: 2, ID: "b"},
		{Account: 3, ID: "a"}}}
	m := New(Config{Store: s, Metrics: metrics.New("test")})
	defer m.Close()
	var asked []int64
	err := m.TellInvokers(t.Context(), func(_ context.Context, account int64) (job.Owner, error) {
		asked = append(asked, account)
		return job.Owner{}, map[int64]error{1: fault.New(fault.TooMany, "full"), 2: fault.New(fault.Internal, "broken"),
			3: fault.New(fault.NotFound, "gone")}[account]
	})
	if want := []int64{1, 2, 2, 3}; !slices.Equal(asked, want) || fault.CodeOf(err) != fault.Internal {
		t.Errorf("asked for %v, want %v: %v", asked, want, err)
	}
}
