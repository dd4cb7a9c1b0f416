package sim

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"testing/cryptotest"
	"time"
)

// simulate carries out a plan.
func simulate(t *testing.T, p *plan) *result {
	t.Helper()
	var r *result
	t.Run(fmt.Sprintf("seed=%d", p.seed), func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, p.seed)
		r = run(t, p, t.TempDir())
	})
	return r
}

func TestSimulation_KeepsAllPromises(t *testing.T) {
	seconds, _ := strconv.Atoi(os.Getenv("PUNCTUAL_SIM_SECONDS"))
	seed, _ := strconv.ParseUint(os.Getenv("PUNCTUAL_SIM_SEED"), 10, 64)
	only := seed != 0
	if seed == 0 {
		seed = 1
	}
	start := time.Now()
	steps, runs := 0, 0
	for ; time.Since(start) < time.Duration(max(seconds, 1))*time.Second; seed++ {
		r := simulate(t, newPlan(seed))
		steps += r.steps
		runs++
		if r.broken != nil || only {
			for _, line := range r.story {
				t.Log(line)
			}
			t.Logf("trace %x", r.trace)
			if r.broken != nil {
				t.Errorf("seed %d: %s", seed, r.broken)
			}
			if only || os.Getenv("PUNCTUAL_SIM_GO_ON") == "" {
				break
			}
		}
		t.Logf("seed %d: %d steps %v", seed, r.steps, r.counts)
	}
	t.Logf("%d steps of %d runs, %.0f steps/s", steps, runs, float64(steps)/time.Since(start).Seconds())
}

func TestSimulation_ReplaysASeedExactly(t *testing.T) {
	for seed := range uint64(3) {
		first, second := simulate(t, newPlan(seed)), simulate(t, newPlan(seed))
		if first.trace != second.trace || first.steps != second.steps {
			t.Errorf("seed %d: the first run had %d steps and the trace %x, the second %d and %x", seed, first.steps, first.trace, second.steps, second.trace)
		}
	}
}
