package service

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
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

// largeStore has a job and a schedule of 1 MB, which hold every key and which no
// change alters.
type largeStore struct {
	store.Store
}

func large(owner job.Owner) *job.Job {
	return &job.Job{Number: 1, Owner: owner, Args: make(rawjson.Value, mib)}
}

func (largeStore) Now() time.Time { return time.Now() }

func (largeStore) JobInsertMany(_ context.Context, jobs []store.NewJob) ([]store.Inserted, error) {
	results := make([]store.Inserted, len(jobs))
	for i := range jobs {
		results[i] = store.Inserted{Job: &job.Job{Number: 1, Owner: jobs[i].Job.Owner}, Conflict: true}
		if !jobs[i].Brief {
			results[i].Job.Args = make(rawjson.Value, mib)
		}
	}
	return results, nil
}

func (largeStore) JobGet(_ context.Context, owner job.Owner, _ job.Ref) (*job.Job, error) {
	return large(owner), nil
}

func (largeStore) JobChange(_ context.Context, owner job.Owner, _ job.Ref, decide store.Decide) (*job.Job, error) {
	j := large(owner)
	j.State = job.Cancelled
	decide(&store.Snapshot{Job: j})
	return j, nil
}

func (largeStore) ScheduleGet(_ context.Context, owner job.Owner, _ uuid.UUID) (*job.Schedule, error) {
	return &job.Schedule{Owner: owner, Args: make(rawjson.Value, mib)}, nil
}

func (s largeStore) ScheduleChange(ctx context.Context, owner job.Owner, id uuid.UUID, decide store.Decide) (*job.Schedule, error) {
	return s.ScheduleGet(ctx, owner, id)
}

// TestService_RecordsOfChangesCountUntilTheyAreRead makes calls that return a large
// record, from clients that don't read their responses.
func TestService_RecordsOfChangesCountUntilTheyAreRead(t *testing.T) {
	const clients, share = 200, 32 * mib
	owner := job.Owner{Number: 1}
	for name, call := range map[string]func(*Service, context.Context) (int, error){
		"a create that finds a duplicate": func(s *Service, ctx context.Context) (int, error) {
			j, conflict, err := s.Create(ctx, owner, []byte(`{"url":"https://example.com/","idempotency_key":"k"}`), nil)
			if err == nil && !conflict {
				t.Error("the job is no duplicate")
			}
			return sizeOf(j), err
		},
		"a cancel": func(s *Service, ctx context.Context) (int, error) {
			j, err := s.Cancel(ctx, owner, job.Ref{Number: 1}, Match{})
			return sizeOf(j), err
		},
		"run now": func(s *Service, ctx context.Context) (int, error) {
			_, err := s.RunNow(ctx, owner, job.Ref{Number: 1})
			if fault.CodeOf(err) == fault.Invalid { // the job is final
				return mib, nil
			}
			return 0, err
		},
		"disable": func(s *Service, ctx context.Context) (int, error) {
			found, err := s.Disable(ctx, owner, uuid.Nil, Match{})
			return scheduleSizeOf(found), err
		},
		"enable": func(s *Service, ctx context.Context) (int, error) {
			found, err := s.Enable(ctx, owner, uuid.Nil, Match{})
			return scheduleSizeOf(found), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				admitted := admission.New(largeStore{})
				s := New(Config{Store: admitted, Metrics: metrics.New("test"), Engine: uniformEngine{}})
				defer s.Close()
				var returned, refused atomic.Int64
				read := make(chan struct{})
				var calls sync.WaitGroup
				for range clients {
					calls.Go(func() {
						ctx, release := admission.Hold(t.Context())
						defer release()
						size, err := call(s, ctx)
						switch {
						case err == nil && size == mib:
							returned.Add(1)
						case fault.CodeOf(err) == fault.TooMany && strings.Contains(err.Error(), "read them"):
							refused.Add(1)
						default:
							t.Errorf("%d bytes, %v", size, err)
						}
						<-read
					})
				}
				time.Sleep(time.Minute)
				if n := returned.Load(); n != share/mib || refused.Load() != clients-n || admitted.Held() != share {
					t.Errorf("%d responses, %d refused, %d bytes held", n, refused.Load(), admitted.Held())
				}
				close(read)
				calls.Wait()
			})
		})
	}
}

func sizeOf(j *job.Job) int {
	if j == nil {
		return 0
	}
	return job.Size(j)
}

func scheduleSizeOf(found *job.Schedule) int {
	if found == nil {
		return 0
	}
	return job.ScheduleSize(found)
}
