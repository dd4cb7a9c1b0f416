package service

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const mib = 1 << 20

// keyedStore has schedules with keys, of 8 MiB each and read one at a time.
type keyedStore struct {
	store.Store
	schedules int
}

func (s *keyedStore) ScheduleKeyed(_ context.Context, _ job.Owner, _ *string, after string, _ int) ([]*job.Schedule, error) {
	n := 0
	if after != "" {
		_, _ = fmt.Sscan(after, &n)
	}
	if n == s.schedules {
		return nil, nil
	}
	key := fmt.Sprint(n + 1)
	return []*job.Schedule{{Key: &key, Args: make([]byte, 8*mib)}}, nil
}

// TestExportSchedules_ReleasesEachPage exports more than an account may hold, for
// one response.
func TestExportSchedules_ReleasesEachPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		admitted := admission.New(&keyedStore{schedules: 10})
		s := &Service{Config: Config{Store: admitted}}
		ctx, release := admission.Hold(t.Context())
		defer release()
		exported := 0
		err := s.ExportSchedules(ctx, job.Owner{Number: 1}, nil, func(page []*job.Schedule) error {
			exported += len(page)
			if held := admitted.Held(); held != 8*mib {
				t.Errorf("%d bytes are held for a page", held)
			}
			return nil
		})
		if err != nil || exported != 10 || admitted.Held() != 0 {
			t.Errorf("%d schedules exported, %d bytes held afterwards, %v", exported, admitted.Held(), err)
		}
	})
}
