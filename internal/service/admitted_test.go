package service

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
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

// attemptStore has jobs of 1 MB, each with the log of an outcome of 200 KB.
type attemptStore struct {
	store.Store
}

func (attemptStore) LogList(_ context.Context, _ job.Owner, q job.LogQuery) (logs []*job.Log, err error) {
	first := int64(1)
	if q.AfterID != uuid.Nil {
		first += int64(binary.BigEndian.Uint64(q.AfterID[:]))
	}
	for n, size := first, 0; n <= 1000 && len(logs) < q.Limit && size <= q.Budget(); n++ {
		l := &job.Log{Job: n, Event: job.EventError, Payload: make([]byte, 200_000)}
		binary.BigEndian.PutUint64(l.ID[:], uint64(n))
		logs, size = append(logs, l), size+job.LogSize(l)
	}
	return logs, nil
}

func (attemptStore) JobGetMany(_ context.Context, _ job.Owner, refs []job.Ref) (jobs []*job.Job, err error) {
	time.Sleep(time.Millisecond)
	for _, ref := range refs {
		jobs = append(jobs, &job.Job{Number: ref.Number, Args: rawjson.Value(`{"url":"` + strings.Repeat("u", 1_000_000) + `"}`)})
	}
	return jobs, nil
}

// TestAttempts_LargePagesOfAnAccountDoNotBlockEachOther reads, at once, pages that
// together need more bytes than the account may hold.
func TestAttempts_LargePagesOfAnAccountDoNotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		admitted := admission.New(attemptStore{})
		s := &Service{Config: Config{Store: admitted}}
		begun := time.Now()
		var readers sync.WaitGroup
		for range 6 {
			readers.Go(func() {
				ctx, release := admission.Hold(t.Context())
				defer release()
				page, err := s.Attempts(ctx, job.Owner{Number: 1}, AttemptQuery{Limit: 25})
				if err != nil || len(page.Items) != 25 || len(page.Items[24].URL) != 1_000_000 {
					t.Errorf("%d attempts, %v", len(page.Items), err)
				}
				if held := admitted.Held(); held < 25*200_000 {
					t.Errorf("%d bytes are held", held)
				}
				time.Sleep(time.Millisecond)
			})
		}
		readers.Wait()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the pages were read in %s", took)
		}
		if held := admitted.Held(); held != 0 {
			t.Errorf("%d bytes are held afterwards", held)
		}
	})
}
