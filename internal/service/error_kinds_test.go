package service

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// kindsStore has jobs with the numbers from 1 to last. Those of found match the filters of a
// query, those of failed failed by a timeout, and those of gone are deleted meanwhile.
type kindsStore struct {
	store.Store
	last                int64
	found, failed, gone map[int64]bool
	size                map[int64]int
	read                int // bytes of jobs, since the last page
	looked              int // positions, since the last page
}

func (s *kindsStore) JobNumbers(_ context.Context, _ job.Owner, q job.Query, look int) (numbers []int64, next int64, err error) {
	at := s.last
	if q.After > 0 {
		at = q.After - 1
	}
	for ; at > 0 && len(numbers) < q.Limit && look > 0; at, look = at-1, look-1 {
		s.looked++
		if s.found[at] {
			numbers = append(numbers, at)
		}
	}
	if at > 0 {
		next = at + 1
	}
	return numbers, next, nil
}

func (s *kindsStore) JobErrorKinds(_ context.Context, _ job.Owner, numbers []int64) (map[int64]string, error) {
	kinds := map[int64]string{}
	for _, number := range numbers {
		if kinds[number] = "connect"; s.failed[number] {
			kinds[number] = "timeout"
		}
	}
	return kinds, nil
}

func (s *kindsStore) JobVersionsOf(_ context.Context, _ job.Owner, ids []job.Ref) (versions []store.JobVersion, err error) {
	for _, id := range ids {
		if !s.gone[id.Number] {
			versions = append(versions, store.JobVersion{Number: id.Number, Size: s.size[id.Number]})
		}
	}
	slices.Reverse(versions)
	return versions, nil
}

func (s *kindsStore) JobGetMany(_ context.Context, _ job.Owner, ids []job.Ref) ([]*job.Job, error) {
	jobs := make([]*job.Job, len(ids))
	for i, id := range ids {
		if s.gone[id.Number] {
			continue
		}
		s.read += s.size[id.Number]
		args := fmt.Sprintf(`{"url":"https://example.com/%d"}`, id.Number%2)
		jobs[i] = &job.Job{Number: id.Number, Args: rawjson.Value(args + strings.Repeat(" ", max(0, s.size[id.Number]-len(args))))}
	}
	return jobs, nil
}

// TestJobsOfKind_PagesMakeUpTheList reads random lists in pages: together they have each job
// once, newest first, and none reads more than its limit and its bytes allow.
func TestJobsOfKind_PagesMakeUpTheList(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := &kindsStore{last: r.Int64N(13_000), found: map[int64]bool{}, failed: map[int64]bool{}, gone: map[int64]bool{}, size: map[int64]int{}}
		found, failed, gone := r.Float64(), r.Float64(), r.Float64()/10
		of := &job.Selection{ErrorKind: "timeout", Query: job.Query{ListQuery: job.ListQuery{Limit: 1 + r.IntN(100), Bytes: 1 + r.IntN(20_000)}}}
		text := []string{"", "example.com/1"}[seed%2]
		var want, got []int64
		for number := s.last; number > 0; number-- {
			s.found[number], s.failed[number], s.gone[number] = r.Float64() < found, r.Float64() < failed, r.Float64() < gone
			s.size[number] = 40 + r.IntN(500)
			if s.found[number] && s.failed[number] && !s.gone[number] && (text == "" || number%2 == 1) {
				want = append(want, number)
			}
		}
		for pages := 0; ; pages++ {
			s.read, s.looked = 0, 0
			page, err := (&Service{Config: Config{Store: s}}).JobsOfKind(t.Context(), job.Owner{}, of, text)
			if err != nil || len(page.Items) > of.Query.Limit || s.read > of.Query.Bytes+2*540 || s.looked > 2000 || pages > 20_000 {
				t.Fatalf("seed %d: page %d has %d jobs, %d bytes and %d positions were read: %v",
					seed, pages, len(page.Items), s.read, s.looked, err)
			}
			for _, j := range page.Items {
				got = append(got, j.Number)
			}
			if page.Next == nil {
				break
			}
			of.Query.ListQuery = *page.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: the pages have %d jobs, want %d", seed, len(got), len(want))
		}
	}
}
