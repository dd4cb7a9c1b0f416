package sim

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// fate is what becomes of a call that has its turn.
type fate int

const (
	proceed fate = iota
	refuse       // the call fails and nothing is done
	forget       // the call is carried out, and its result is lost
	perish       // the caller's node has crashed
	wait         // the call takes its turn later
	lag          // the call is carried out, and its result comes later
)

// call is a call to the store, to a target or between nodes that waits for its turn.
type call struct {
	node    *node // nil for what runs on no node
	who     string
	what    string
	behind  int // its earlier turn; 0 if it has had none
	arrived int
	number  int // of its turn
	turn    chan turn
}

type turn struct {
	fate  fate
	after time.Duration // for wait
}

// scheduler lets one call go on at a time. All that nodes, clients and targets do to
// each other passes through it, so that the order of these calls, and with it the
// whole run, follows from the seed.
type scheduler struct {
	random *rand.Rand // of the loop

	mu       sync.Mutex
	parked   []*call
	arrivals int
	turns    int
	ended    bool // no call has a turn any more
	news     chan struct{}
}

func newScheduler(seed uint64) *scheduler {
	return &scheduler{random: rand.New(rand.NewPCG(seed, 1)), news: make(chan struct{}, 1)}
}

// await waits for the turn of a call and returns its fate.
func (s *scheduler) await(n *node, who, what string) fate {
	f, _ := s.awaitBehind(n, who, what, 0)
	return f
}

// awaitBehind waits for the turn of a call that had an earlier one, and returns its fate
// and the number of its turn. Calls of the same name that a standstill has kept until the
// same moment are sorted by their earlier turns: in which order the runtime wakes them does
// not follow from the seed.
func (s *scheduler) awaitBehind(n *node, who, what string, behind int) (f fate, number int) {
	for {
		c := &call{node: n, who: who, what: what, behind: behind, turn: make(chan turn, 1)}
		if !s.park(c) {
			return perish, 0
		}
		t := <-c.turn
		if t.fate != wait {
			return t.fate, c.number
		}
		behind = c.number
		time.Sleep(t.after)
	}
}

// park adds a call to those that wait, unless its node has crashed.
func (s *scheduler) park(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || c.node != nil && c.node.dead {
		return false
	}
	s.arrivals++
	c.arrived = s.arrivals
	s.parked = append(s.parked, c)
	select {
	case s.news <- struct{}{}:
	default:
	}
	return true
}

// next removes a call at random. It returns nil if none waits.
func (s *scheduler) next() *call {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parked) == 0 {
		return nil
	}
	slices.SortFunc(s.parked, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.who, b.who), cmp.Compare(a.what, b.what), a.behind-b.behind, a.arrived-b.arrived)
	})
	i := s.random.IntN(len(s.parked))
	c := s.parked[i]
	s.parked = slices.Delete(s.parked, i, i+1)
	s.turns++
	c.number = s.turns
	return c
}

// kill makes a node's calls fail, now and from now on.
func (s *scheduler) kill(n *node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.dead = true
	s.parked = slices.DeleteFunc(s.parked, func(c *call) bool {
		if c.node == n {
			c.turn <- turn{fate: perish}
		}
		return c.node == n
	})
}

// end makes the calls fail that run on no node, now and from now on.
func (s *scheduler) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.parked = slices.DeleteFunc(s.parked, func(c *call) bool {
		if c.node == nil {
			c.turn <- turn{fate: perish}
		}
		return c.node == nil
	})
}

// idle waits until a call arrives or the time has passed.
func (s *scheduler) idle(ctx context.Context, until time.Duration) {
	timer := time.NewTimer(until)
	defer timer.Stop()
	select {
	case <-s.news:
	case <-timer.C:
	case <-ctx.Done():
	}
}
