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
	t.Errorf("seed %d of %d actions breaks a promise; these %d are enough.\n%s", p.seed, len(p.actions), len(small.actions), tell(small, shown))
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
	steps, runs, counts := 0, 0, map[string]int{}
	for seed := uint64(number("PUNCTUAL_SIM_FIRST", 1)); runs == 0 || time.Now().Before(until); seed++ {
		p := newPlan(seed)
		r := simulate(t, p)
		steps += r.steps
		runs++
		for name, n := range r.counts {
			counts[name] += n
		}
		if r.broken != nil {
			if report(t, p, r); os.Getenv("PUNCTUAL_SIM_GO_ON") == "" {
				break
			}
		}
	}
	took := time.Since(start)
	t.Logf("%d runs with %d steps in %s, %.0f steps/s", runs, steps, took.Round(time.Second), float64(steps)/took.Seconds())
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%10d %s", counts[name], name)
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

func TestSimulation_ReplaysASeedExactly(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		first, second := simulate(t, newPlan(seed)), simulate(t, newPlan(seed))
		if first.trace != second.trace || first.steps != second.steps {
			t.Errorf("seed %d: the first run had %d steps and the trace %x, the second %d and %x", seed, first.steps, first.trace, second.steps, second.trace)
		}
	}
}
