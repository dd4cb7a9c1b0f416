package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// without returns a plan without some of its actions.
func (p *plan) without(from, to int) *plan {
	smaller := *p
	smaller.actions = slices.Concat(p.actions[:from], p.actions[to:])
	return &smaller
}

// shrink removes actions, answers and nodes from a plan for as long as its run
// breaks the same promise, and returns the smallest plan that it has found and what
// that showed. It starts no run after the deadline.
func shrink(p *plan, broken *result, deadline time.Time, simulate func(*plan) *result) (*plan, *result) {
	try := func(smaller *plan) bool {
		if time.Now().After(deadline) {
			return false
		}
		r := simulate(smaller)
		if r.broken == nil || r.broken.promise != broken.broken.promise {
			return false
		}
		p, broken = smaller, r
		return true
	}
	for size := len(p.actions) / 2; size > 0; size /= 2 {
		for from := 0; from < len(p.actions); {
			if to := min(from+size, len(p.actions)); !try(p.without(from, to)) {
				from = to
			}
		}
	}
	for i := range p.actions {
		for len(p.actions[i].answers) > 1 {
			smaller := *p
			smaller.actions = slices.Clone(p.actions)
			a := *p.actions[i]
			a.answers = a.answers[1:]
			smaller.actions[i] = &a
			if !try(&smaller) {
				break
			}
		}
	}
	return p, broken
}

// tell returns a broken promise as numbered lines: the plan, and what happened.
func tell(p *plan, r *result) string {
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d, %d nodes: %s\n\nThe plan:\n", p.seed, p.nodes, r.broken)
	var ids []string
	for _, a := range p.actions {
		fmt.Fprintf(&text, "  %d. %s\n", a.id, a)
		ids = append(ids, fmt.Sprint(a.id))
	}
	fmt.Fprintf(&text, "\nWhat happened:\n")
	for i, line := range r.story {
		fmt.Fprintf(&text, "%5d %s\n", i+1, line)
	}
	fmt.Fprintf(&text, "\nTo see it again: make sim SEED=%d KEEP=%s\n", p.seed, strings.Join(ids, ","))
	return text.String()
}
