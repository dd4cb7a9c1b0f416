package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/store"
)

// picky is a store that refuses jobs named poison.
type picky struct {
	store.Store
	calls int
}

func (p *picky) Now() time.Time { return time.Now() }

func (p *picky) JobInsertMany(_ context.Context, jobs []store.NewJob) ([]store.Inserted, error) {
	time.Sleep(time.Millisecond) // so that other creates queue meanwhile
	p.calls++
	results := make([]store.Inserted, len(jobs))
	for i, n := range jobs {
		if strings.Contains(string(n.Job.Args), "poison") {
			return nil, store.Unstorable(errors.New("refused"))
		}
		results[i].Job = n.Job
	}
	return results, nil
}

func TestCreate_FailsOnlyTheJobTheStoreRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &picky{}
		m := New(Config{Store: s, Metrics: metrics.New("test")})
		defer m.Close()
		var wg sync.WaitGroup
		for i := range 60 {
			body := fmt.Sprintf(`{"url":"https://example.com/%d"}`, i)
			if i%20 == 7 {
				body = `{"url":"https://example.com/poison"}`
			}
			wg.Go(func() {
				_, _, err := m.Create(t.Context(), job.Owner{Number: int64(i % 5)}, []byte(body), nil)
				if poison := i%20 == 7; poison != (fault.CodeOf(err) == fault.Invalid) || !poison && err != nil {
					t.Errorf("create %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if s.calls > 40 {
			t.Errorf("%d calls of the store", s.calls)
		}
	})
}
