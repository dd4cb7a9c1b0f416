package admission

import (
	"context"
	"fmt"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// shelf is a store with jobs of one size.
type shelf struct {
	store.Store
	jobs, size int
	asked      []int // budgets of the lists read
}

func (s *shelf) JobList(_ context.Context, _ job.Owner, q job.Query) (jobs []*job.Job, err error) {
	s.asked = append(s.asked, q.Bytes)
	for size := 0; len(jobs) < min(q.Limit, s.jobs) && size <= q.Budget(); size += s.size {
		jobs = append(jobs, &job.Job{Number: int64(len(jobs) + 1), Args: make([]byte, s.size)})
	}
	return jobs, nil
}

func (s *shelf) JobGet(context.Context, job.Owner, job.Ref) (*job.Job, error) {
	s.asked = append(s.asked, 0)
	return &job.Job{Args: make([]byte, s.size)}, nil
}

func TestJobList_ReservesTheBytesOfThePage(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		jobs, size, bytes int
		asked             string
		read, held        int
	}{
		"small":          {11, 500, 0, "[262144]", 11, 11 * 500},
		"large":          {11, mib, 0, "[262144 8388608]", 9, 9 * mib},
		"one is large":   {1, mib, 0, "[262144 8388608]", 1, mib},
		"none":           {0, 500, 0, "[262144]", 0, 0},
		"all fit":        {11, 100 << 10, 0, "[262144 8388608]", 11, 11 * 100 << 10},
		"beyond a page":  {11, 9 * mib, 0, "[262144 8388608]", 1, 9 * mib},
		"a small page":   {11, mib, 256 << 10, "[262144]", 1, mib},
		"a smaller page": {11, 600, 1000, "[1000]", 2, 1200},
	} {
		behind := &shelf{jobs: c.jobs, size: c.size}
		s := New(behind)
		ctx, release := Hold(t.Context())
		jobs, err := s.JobList(ctx, job.Owner{Number: 1}, job.Query{ListQuery: job.ListQuery{Limit: 11, Bytes: c.bytes}})
		if err != nil || fmt.Sprint(behind.asked) != c.asked || len(jobs) != c.read || s.bytes.used != c.held {
			t.Errorf("%s: %d jobs with budgets %v, %d bytes held, %v", name, len(jobs), behind.asked, s.bytes.used, err)
		}
		if release(); s.bytes.used != 0 || len(s.pages.accounts)+len(s.heavy.accounts) != 0 {
			t.Errorf("%s: %d bytes are held afterwards", name, s.bytes.used)
		}
	}
}

func TestJobGet_ReservesBytesForLargeRecords(t *testing.T) {
	for size, want := range map[int]struct{ reads, held int }{1000: {1, 0}, smallRecord: {1, 0}, smallRecord + 1: {2, smallRecord + 1}} {
		behind := &shelf{size: size}
		s := New(behind)
		ctx, release := Hold(t.Context())
		j, err := s.JobGet(ctx, job.Owner{Number: 1}, job.Ref{Number: 1})
		if err != nil || len(j.Args) != size || len(behind.asked) != want.reads || s.bytes.used != want.held {
			t.Errorf("%d bytes: read %d times, %d held, %v", size, len(behind.asked), s.bytes.used, err)
		}
		release()
	}
}

func TestReserve_CoversTheReadsOfAResponse(t *testing.T) {
	const mib = 1 << 20
	behind := &shelf{jobs: 11, size: mib}
	s := New(behind)
	ctx, release := Hold(t.Context())
	reserved, settle, err := Reserve(ctx, s, job.Owner{Number: 1}, 20*mib)
	if err != nil || s.bytes.used != 20*mib {
		t.Fatalf("%d bytes are reserved, %v", s.bytes.used, err)
	}
	jobs, err := s.JobList(reserved, job.Owner{Number: 1}, job.Query{ListQuery: job.ListQuery{Limit: 11}})
	if err != nil || len(jobs) != 9 || fmt.Sprint(behind.asked) != "[8388608]" || s.bytes.used != 20*mib {
		t.Errorf("%d jobs with budgets %v, %d bytes held, %v", len(jobs), behind.asked, s.bytes.used, err)
	}
	if _, err := s.JobGet(reserved, job.Owner{Number: 1}, job.Ref{Number: 1}); err != nil || len(behind.asked) != 2 ||
		s.bytes.used != 20*mib {
		t.Errorf("%d bytes are held with a job, %v", s.bytes.used, err)
	}
	if settle(3 * mib); s.bytes.used != 3*mib {
		t.Errorf("%d bytes are held once the reservation has ended", s.bytes.used)
	}
	if release(); s.bytes.used != 0 {
		t.Errorf("%d bytes are held afterwards", s.bytes.used)
	}
	if same, settle, err := Reserve(ctx, behind, job.Owner{}, mib); same != ctx || err != nil {
		t.Errorf("bytes of a store without bounds are reserved: %v", err)
	} else {
		settle(mib)
	}
}
