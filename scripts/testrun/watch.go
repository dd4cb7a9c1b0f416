package main

import (
	"fmt"
	"time"
)

// quietFor is after how long without a line something is said of what runs.
const quietFor = 2 * time.Minute

// stalled returns the packages that have been silent for too long, and marks them. Each
// event is progress: a test that begins, ends or prints. Before the first test of a
// package, which may have to build programs, more time is given.
func (r *run) stalled(now time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for _, p := range r.unended() {
		limit := r.stall
		if !p.begun {
			limit = r.starting
		}
		if silent := now.Sub(p.last); silent > limit && p.stuck == "" {
			p.stuck = fmt.Sprintf("no progress for %s, so it was ended", round(silent))
			r.printf("%s: no progress for %s; printing its goroutines\n", p.name, round(silent))
			if running := p.describe(now); running != "" {
				r.printf("    running: %s\n", running)
			}
			found = append(found, p.name)
		}
	}
	return found
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
