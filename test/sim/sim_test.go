package sim

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"time"
)

var emptyFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sim")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return empty(dir)
})

// simulate carries out a plan.
func simulate(t *testing.T, p *plan) (r *result) {
	t.Helper()
	file, err := emptyFile()
	if err != nil {
		t.Fatal(err)
	}
	t.Run(fmt.Sprintf("seed=%d", p.seed), func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, p.seed)
		r = run(t, p, t.TempDir(), file)
	})
	return r
}

// report shrinks a run that broke a promise and prints its story.
func report(t *testing.T, p *plan, r *result) {
	t.Helper()
	within := time.Minute
	if os.Getenv("PUNCTUAL_SIM_NO_SHRINK") != "" {
		within = 0
	}
	small, shown := shrink(p, r, time.Now().Add(within), func(p *plan) *result { return simulate(t, p) })
	t.Errorf("seed %d of %d actions breaks a promise; these %d are enough.\n%s", p.seed, len(p.actions), len(small.actions),
		tell(small, shown))
}

func number(name string, otherwise int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return otherwise
	}
	return n
}

// TestSimulation_KeepsAllPromises runs one seed after the other for some seconds, or
// the one that is asked for.
func TestSimulation_KeepsAllPromises(t *testing.T) {
	if seed := number("PUNCTUAL_SIM_SEED", 0); seed != 0 {
		replay(t, newPlan(uint64(seed)))
		return
	}
	start := time.Now()
	until := start.Add(time.Duration(number("PUNCTUAL_SIM_SECONDS", 20)) * time.Second)
	steps, runs, most, counts := 0, 0, number("PUNCTUAL_SIM_RUNS", 0), map[string]int{}
	if most > 0 {
		until = start.Add(24 * time.Hour)
	}
	for seed := uint64(number("PUNCTUAL_SIM_FIRST", 1)); runs == 0 || runs != most && time.Now().Before(until); seed++ {
		p := newPlan(seed)
		r := simulate(t, p)
		steps += r.steps
		runs++
		for name, n := range r.counts {
			counts[name] += n
		}
		if r.broken != nil {
			t.Logf("run %d, after %d steps and %.1f s of processor time: %s", runs, steps, processorTime().Seconds(), r.broken.promise)
			if report(t, p, r); os.Getenv("PUNCTUAL_SIM_GO_ON") == "" {
				break
			}
		}
	}
	took := time.Since(start)
	t.Logf("%d runs with %d steps in %s, %.0f steps/s, %.0f in a second of processor time",
		runs, steps, took.Round(time.Second), float64(steps)/took.Seconds(), float64(steps)/processorTime().Seconds())
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%10d %s", counts[name], name)
	}
}

// TestSimulation_KeepsWhatItHasFound runs seeds that have shown defects of the service or of
// the checks, with workflow runs.
func TestSimulation_KeepsWhatItHasFound(t *testing.T) {
	for workflows, seeds := range map[string][]uint64{"1": {149, 5097, 5191, 5482}, "": {11281051, 31281073, 31281087}} {
		t.Setenv("PUNCTUAL_SIM_WORKFLOWS", workflows)
		for _, seed := range seeds {
			p := newPlan(seed)
			if r := simulate(t, p); r.broken != nil {
				report(t, p, r)
			}
		}
	}
}

// replay runs a plan, or the actions of it that PUNCTUAL_SIM_KEEP names, and prints
// its story.
func replay(t *testing.T, p *plan) {
	t.Helper()
	if keep := os.Getenv("PUNCTUAL_SIM_KEEP"); keep != "" {
		ids := strings.Split(keep, ",")
		p.actions = slices.DeleteFunc(p.actions, func(a *action) bool { return !slices.Contains(ids, fmt.Sprint(a.id)) })
	}
	r := simulate(t, p)
	t.Log(tell(p, r))
	if r.broken != nil {
		t.Error(r.broken)
	}
}

// TestSimulation_ReplaysASeedExactly repeats a run until it equals one before: Go's
// scheduler interrupts what runs for more than 10 ms and takes from its global queue after
// each 61 switches, so what is ready at the same time can run in another order. Lines of
// one moment may change places for the same reason.
func TestSimulation_ReplaysASeedExactly(t *testing.T) {
	if raced {
		t.Skip("the race detector changes the order in which goroutines run")
	}
	for _, seed := range []uint64{1, 2, 12, 24} { // the last two have workflow runs
		var seen []*result
		for {
			r := simulate(t, newPlan(seed))
			slices.Sort(r.story)
			if slices.ContainsFunc(seen, func(s *result) bool {
				return s.trace == r.trace && s.steps == r.steps && slices.Equal(s.story, r.story)
			}) {
				break
			}
			if seen = append(seen, r); len(seen) == 6 {
				t.Fatalf("seed %d: six runs were all different: %s", seed, differences(seen))
			}
		}
	}
}

// differences shows what tells each result from the one before.
func differences(results []*result) string {
	var b strings.Builder
	for i, r := range results {
		fmt.Fprintf(&b, "\n%d steps, trace %x", r.steps, r.trace)
		if i == 0 {
			continue
		}
		for n := range min(len(r.story), len(results[i-1].story)) {
			if was := results[i-1].story[n]; was != r.story[n] {
				fmt.Fprintf(&b, "\n  before: %s\n  now:    %s", was, r.story[n])
				break
			}
		}
	}
	return b.String()
}
