package bench

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
)

const (
	// largeBody is the size of a large request body: a call has at most 1 MiB
	// with all of a job.
	largeBody = 1<<20 - 4096
	// largeHold is how long large responses are held back, so that as many as
	// the service permits are under way at once.
	largeHold = 500 * time.Millisecond
	// largeAccounts is how many accounts share the jobs, since the service limits
	// how many bytes a second the large items of one account move.
	largeAccounts = 50
	// largeProbe is the part of them that is put into the store before, to see
	// how fast that goes.
	largeProbe = 8
)

// largeAnswer is as long as what is kept of a response.
var largeAnswer = `{"padding":"` + strings.Repeat("x", job.MaxResponseBody-len(`{"padding":""}`)) + `"}`

// largeKind is a herd of jobs with large responses or large request bodies.
type largeKind struct {
	name, label string
	path        string
	body        int // bytes
}

var largeKinds = []largeKind{
	{name: "answers", label: "256 KiB responses", path: pathLarge, body: bodyBytes},
	{name: "bodies", label: "1 MiB requests", path: pathJob, body: largeBody},
}

// large measures jobs with the largest responses and the largest bodies, as many
// at once as there are: how fast they are, and how much memory they take.
func large(ctx context.Context, t *trial) error {
	for _, kind := range largeKinds {
		if err := t.runLarge(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) runLarge(ctx context.Context, kind largeKind) error {
	n := t.Sizes.large()
	var expected *round
	err := t.start(ctx, n, func(ctx context.Context, s records) (err error) {
		expected, err = t.fillLarge(ctx, s, n, kind)
		return err
	})
	if err != nil {
		return err
	}
	begin := schedule.Later(expected.due[0], time.Now()) // filling may take longer than expected
	before, err := t.service.api.vitals(ctx)
	if err != nil {
		return err
	}
	cpu, err := t.fireHerd(ctx, before, expected, begin)
	if err != nil {
		return err
	}
	took := time.Since(begin) - largeHold
	t.check("jobs with "+kind.label, expected)
	t.cpu(Figure{Name: kind.name + "_cpu", Label: kind.label + ", CPU a job"}, cpu.running, n)
	t.figure(Figure{Name: kind.name, Label: kind.label + ", jobs", Unit: "/s", Value: float64(n) / took.Seconds()})
	if kib := t.service.peak(); kib > 0 {
		t.figure(Figure{Name: kind.name + "_resident", Label: kind.label + ", most memory", Unit: "MiB", Value: kib / 1024,
			Mark: "640 MiB"})
	}
	return t.stopService(ctx)
}

// fillLarge puts large jobs into the store, each the next account's, due shortly
// after the service will be ready.
func (t *trial) fillLarge(ctx context.Context, s records, n int, kind largeKind) (*round, error) {
	owners := make([]job.Owner, min(largeAccounts, n))
	for i := range owners {
		account, _, err := t.newAccount(ctx, s, fmt.Sprintf("large-%d", i))
		if err != nil {
			return nil, err
		}
		owners[i] = account.Owner
	}
	fill := func(jobs []planned, done *atomic.Int64) error {
		for i := range jobs {
			jobs[i].url, jobs[i].body = strings.TrimSuffix(jobs[i].url, pathJob)+kind.path, kind.body
		}
		return insert(ctx, s, func(i int) planned { return jobs[i] }, len(jobs), func(i int) job.Owner { return owners[i%len(owners)] },
			done)
	}
	began, probe := time.Now(), max(1, n/largeProbe)
	if err := fill(t.later(probe), new(atomic.Int64)); err != nil {
		return nil, err
	}
	each := time.Since(began) / time.Duration(probe)
	due := time.Now().Add(2*spare + time.Duration(n)*each*3/2)
	jobs, expected := t.plan(n, t.target.urls, func(int) time.Time { return due })
	expected.hold = largeHold
	t.target.expect(expected)
	return expected, fill(jobs, t.step("putting jobs with "+kind.label+" into the store", n))
}

// peak returns the most memory in KiB that a service of the bench's own has had
// resident; 0 when the system does not tell.
func (s *service) peak() (kib float64) {
	if s.process == nil {
		return 0
	}
	_, _ = fmt.Sscanf(entry(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid), "VmHWM"), "%f", &kib)
	return kib
}
