package main

import (
	"fmt"
	"time"
)

// quietFor is after how long without a line something is said of what runs.
const quietFor = 2 * time.Minute

// mostBusy is by how much a machine that is busy lengthens the time that a package may be
// silent, at most.
const mostBusy = 6

// stalled returns the packages that have been silent for too long, and marks them. Each
// event is progress: a test that begins, ends or prints. Before the first test of a
// package, which may have to build programs, more time is given, and more while the
// machine is busier than when its factor was measured.
func (r *run) stalled(now time.Time) (found []string) {
	if len(r.quiet(now, 1)) == 0 {
		return nil
	}
	silent := r.quiet(now, min(r.busy(now), mostBusy))
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range silent {
		long := round(now.Sub(p.last))
		p.stuck = fmt.Sprintf("no progress for %s, so it was ended", long)
		r.printf("%s: no progress for %s; printing its goroutines\n", p.name, long)
		if running := p.describe(now); running != "" {
			r.printf("    running: %s\n", running)
		}
		found = append(found, p.name)
	}
	return found
}

// quiet returns the packages that were silent for longer than so many times their limit.
func (r *run) quiet(now time.Time, times float64) (found []*pkg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.unended() {
		limit := r.stall
		if !p.begun {
			limit = r.starting
		}
		if p.stuck == "" && float64(now.Sub(p.last)) > times*float64(limit) {
			found = append(found, p)
		}
	}
	return found
}

// busy returns how much longer work takes than when the factor was measured, 1 at the
// least, as measured in the last minute.
func (r *run) busy(now time.Time) float64 {
	if r.busyAt.IsZero() || now.Sub(r.busyAt) > time.Minute {
		r.busyBy, r.busyAt = max(1, r.present()/r.factor), now
	}
	return r.busyBy
}

// silent reports, once, whether go test itself, which may be building, has been silent for
// too long while no package ran.
func (r *run) silent(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unended()) > 0 || now.Sub(r.last) <= 2*r.starting {
		return false
	}
	r.last = now
	return true
}

// tell prints what runs if nothing was printed for a while.
func (r *run) tell(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.heard) < quietFor {
		return
	}
	under := r.unended()
	if len(under) == 0 {
		r.printf("... building\n")
	}
	for _, p := range under {
		r.printf("... %s for %s%s\n", short(p.name, r.module), round(now.Sub(p.started)), prefixed(", last ended: ", p.recent))
	}
}
