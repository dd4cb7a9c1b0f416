package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// largestShare is the part of the backlog that is one account's, whose
	// lists are read; at most largestBacklog, so that they can be walked.
	largestShare   = 10
	largestBacklog = 100_000
	// listTimes is how often each list is read.
	listTimes = 20
	mebibyte  = 1 << 20
)

// states are the filters of lists of jobs, with none at first.
var states = append([]string{""}, job.StateFilters()...)

// backlog measures a service in whose store very many jobs wait.
func backlog(ctx context.Context, t *trial) error {
	if err := t.startFilled(ctx); err != nil {
		return err
	}
	t.figure(Figure{Name: "ready", Label: "ready after its start", Unit: "s", Value: t.service.ready.Seconds(), Mark: "2 s"})
	began, err := t.service.api.vitals(ctx)
	if err != nil {
		return err
	}
	if err := t.measureLists(ctx); err != nil {
		return err
	}
	o, _, err := t.runHerd(ctx, t.Sizes.Jobs, t.target.urls)
	if err != nil {
		return err
	}
	t.figure(Figure{Name: "herd", Label: "herd, jobs", Unit: "/s", Value: o.throughput(), Against: "herd/throughput", Mark: "0.70"})
	t.latency("backlog herd", o.late)
	if o, _, err = t.runSteady(ctx); err != nil {
		return err
	}
	t.lateFigures(late{prefix: "steady_", label: "steady late", against: "steady/", p50: "1.43", p99: "1.43"},
		t.latency("backlog steady", o.late))
	ended, err := t.service.api.vitals(ctx)
	if err != nil {
		return err
	}
	t.figure(Figure{Name: "resident", Label: "resident memory, at the start", Unit: "MiB", Value: began.resident / mebibyte})
	t.figure(Figure{Name: "resident_end", Label: "resident memory, in the end", Unit: "MiB", Value: ended.resident / mebibyte,
		Mark: "512 MiB"})
	return nil
}

// startFilled fills a store and starts the service as the account with the
// most jobs.
func (t *trial) startFilled(ctx context.Context) error {
	var key string
	err := t.start(ctx, t.Sizes.Workers, func(ctx context.Context, s records) (err error) {
		key, err = t.fillBacklog(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	t.service.api.key = key
	return nil
}

// fillBacklog stores jobs of many accounts, due between an hour and a month
// from now, and returns a key of the account with the most.
func (t *trial) fillBacklog(ctx context.Context, s records) (key string, err error) {
	owners, key, err := t.fillAccounts(ctx, s)
	if err != nil {
		return "", err
	}
	n := t.Sizes.Backlog
	largest := min(n/largestShare, largestBacklog)
	now := time.Now()
	// They are made as they are stored: a hundred million would not fit.
	jobs := func(i int) planned {
		due := now.Add(time.Hour + rand.N(29*24*time.Hour))
		return planned{number: int64(-1 - i), due: due, url: t.target.urls[0] + pathJob}
	}
	owner := func(i int) job.Owner {
		// The largest account's are spread over all, as they would have come.
		if int64(i)*int64(largest)/int64(n) != int64(i+1)*int64(largest)/int64(n) {
			return owners[0]
		}
		return owners[1+rand.IntN(len(owners)-1)]
	}
	return key, insert(ctx, s, jobs, n, owner, t.step("putting jobs into the store", n))
}

func (t *trial) fillAccounts(ctx context.Context, s records) (owners []job.Owner, key string, err error) {
	owners = make([]job.Owner, t.Sizes.accounts())
	failed := make([]error, len(owners))
	done := t.step("making accounts", len(owners))
	// Those that are made at once share commits.
	const atOnce = 32
	var wait sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range owners {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			account, k, err := t.newAccount(ctx, s, fmt.Sprintf("backlog-%d", i))
			if failed[i] = err; err != nil {
				return
			}
			owners[i] = account.Owner
			if i == 0 {
				key = k
			}
			done.Add(1)
		})
	}
	wait.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, "", err
		}
	}
	return owners, key, nil
}

// measureLists reads the first page of the jobs in each state, and walks to the
// last page of all.
func (t *trial) measureLists(ctx context.Context) error {
	t.step("reading lists", 0)
	worst, worstState := 0.0, ""
	for _, state := range states {
		path := "/api/jobs?limit=100"
		if state != "" {
			path += "&state=" + state
		}
		ms, err := t.listMedian(ctx, path)
		if err != nil {
			return err
		}
		if state == "" {
			state = "all"
			t.figure(Figure{Name: "list_all", Label: "list, first page", Unit: "ms", Value: ms, Mark: "20 ms"})
		} else {
			t.figure(Figure{Name: "list_" + state, Label: "list, first page, " + state, Unit: "ms", Value: ms, Detail: true})
		}
		if ms > worst {
			worst, worstState = ms, state
		}
	}
	t.figure(Figure{Name: "list_worst", Label: "list, first page, worst state", Unit: "ms", Value: worst, Mark: "20 ms"})
	t.note("the slowest first page was that of state %s", worstState)
	last, pages, err := t.walk(ctx)
	if err != nil {
		return err
	}
	ms, err := t.listMedian(ctx, last)
	t.figure(Figure{Name: "list_last", Label: "list, last page by cursor", Unit: "ms", Value: ms, Against: "backlog/list_all",
		Mark: "1.00"})
	t.figure(Figure{Name: "pages", Label: "pages of the list", Value: float64(pages), Detail: true})
	return err
}

// listMedian reads a page several times and returns the median of the times.
func (t *trial) listMedian(ctx context.Context, path string) (float64, error) {
	var times []float64
	for range listTimes {
		_, took, err := t.service.api.list(ctx, path)
		if err != nil {
			return 0, err
		}
		times = append(times, float64(took)/float64(time.Millisecond))
	}
	return median(times), nil
}

// walk follows the list of all jobs to its last page, and returns that one's path.
func (t *trial) walk(ctx context.Context) (last string, pages int, err error) {
	most := largestBacklog/100 + 10
	for path := "/api/jobs?limit=100"; path != ""; pages++ {
		if pages > most {
			return "", 0, fmt.Errorf("the list of jobs does not end after %d pages", pages)
		}
		last = path
		if path, _, err = t.service.api.list(ctx, path); err != nil {
			return "", 0, err
		}
		if path != "" && !strings.HasPrefix(path, "/") {
			return "", 0, fmt.Errorf("the link to the next page, %q, is not understood", path)
		}
	}
	return last, pages, nil
}
