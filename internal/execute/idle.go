package execute

import (
	"container/heap"
	"container/list"
	"sync"
	"time"
)

// connSet is the open connections to targets. It bounds how many of them are
// idle: to one address and port, of one account, and in all. Where there are too
// many in all, the account with the most loses the one that has been idle for
// longest, so that no account displaces the connections of others.
type connSet struct {
	most        int // idle connections of an account to one address and port
	mostAccount int // of an account
	mostAll     int // in all

	mu      sync.Mutex
	conns   map[*targetConn]struct{}
	idle    int // how many are idle
	holders map[int64]*holder
	ranking ranking // of the holders that have idle connections
	kept    pool
	relief  relief
	timer   *time.Timer // of the next sweep; nil while no connection is idle
	sweeps  sync.WaitGroup
	closed  bool // no connection is kept any more
}

// holder is an account with connections.
type holder struct {
	account int64
	idle    list.List      // of *targetConn, the longest idle first
	at      map[string]int // how many of them, by address and port
	open    int            // connections
	ahead   int            // connections opened ahead, or being so, that no request has used
	rank    int            // in the ranking; -1 while nothing is idle
}

func newConnSet(most, mostAll int) *connSet {
	return &connSet{
		// One account alone may use most of the room, but not all.
		most: most, mostAccount: mostAll - mostAll/4, mostAll: mostAll,
		conns: map[*targetConn]struct{}{}, holders: map[int64]*holder{},
		kept: pool{hosts: map[route]*poolHost{}, dials: map[*waiter]struct{}{}},
	}
}

// holder returns the entry of an account. Called with mu held.
func (s *connSet) holder(account int64) *holder {
	h := s.holders[account]
	if h == nil {
		h = &holder{account: account, at: map[string]int{}, rank: -1}
		s.holders[account] = h
	}
	return h
}

// release removes the entry of an account that has nothing left. Called with mu held.
func (s *connSet) release(h *holder) {
	if h.open == 0 && h.ahead == 0 {
		delete(s.holders, h.account)
	}
}

// setIdle records that a connection is idle, and returns one that exceeds the bounds
// and is to be closed; nil when none does. used is whether it has just carried a request.
func (s *connSet) setIdle(c *targetConn, used bool) *targetConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if used {
		c.used = present()
	}
	if _, open := s.conns[c]; !open || c.ending || c.place != nil {
		return nil
	}
	switch {
	case s.closed:
		c.ending = true
		return c
	case c.kept != nil && s.serve(c, true):
		return nil
	}
	s.list(c)
	spare := s.spare(c)
	if spare != nil {
		s.endLocked(spare)
	}
	return spare
}

// busy records that a connection is in use, and reports whether it is open, unless this
// side is closing it.
func (s *connSet) busy(c *targetConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.conns[c]; !open || c.ending {
		return false
	}
	s.unlist(c)
	return true
}

// end keeps a connection from being used again.
func (s *connSet) end(c *targetConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(c)
}

func (s *connSet) endLocked(c *targetConn) {
	s.unlist(c)
	c.ending = true
}

// spare returns an idle connection that exceeds a bound since c is idle, too, or nil.
// Called with mu held.
func (s *connSet) spare(c *targetConn) *targetConn {
	h := s.holders[c.route.party.Account]
	switch {
	case h.at[c.at] > s.most && c.kept != nil:
		return c
	case h.at[c.at] > s.most: // c has not been used yet
		return h.longest()
	case h.idle.Len() > s.mostAccount:
		return h.longest()
	case s.idle > s.mostAll:
		return s.ranking[0].longest()
	}
	return nil
}

// list adds a connection to the idle ones. Called with mu held.
func (s *connSet) list(c *targetConn) {
	h := s.holder(c.route.party.Account)
	c.place = h.idle.PushBack(c)
	h.at[c.at]++
	s.idle++
	s.rank(h)
	if c.kept != nil {
		c.kept.checked = time.Now()
		s.kept.list(c)
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(sweepEvery, s.sweep)
	}
}

// touch notes that a connection begins or ends to carry a request.
func (s *connSet) touch(c *targetConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.used = present()
}

// age returns how long ago a connection was opened or carried a request.
func (s *connSet) age(c *targetConn) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.used.age()
}

// unlist removes a connection from the idle ones. Called with mu held.
func (s *connSet) unlist(c *targetConn) {
	if c.place == nil {
		return
	}
	h := s.holders[c.route.party.Account]
	h.idle.Remove(c.place)
	c.place = nil
	if h.at[c.at]--; h.at[c.at] == 0 {
		delete(h.at, c.at)
	}
	s.idle--
	s.rank(h)
	if c.kept != nil {
		s.kept.unlist(c)
	}
}

func (s *connSet) add(c *targetConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	s.holder(c.route.party.Account).open++
}

func (s *connSet) remove(c *targetConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.conns[c]; !open {
		return
	}
	delete(s.conns, c)
	s.unlist(c)
	if c.kept != nil {
		s.use(c)
		s.kept.lose(c.route)
	}
	h := s.holders[c.route.party.Account]
	h.open--
	s.release(h)
}

// closeIf closes the connections that satisfy a condition.
func (s *connSet) closeIf(condition func(*targetConn) bool) {
	s.mu.Lock()
	var found []*targetConn
	for c := range s.conns {
		if condition(c) {
			found = append(found, c)
		}
	}
	s.mu.Unlock()
	for _, c := range found {
		_ = c.Close()
	}
}

// longest returns the connection that has been idle for longest.
func (h *holder) longest() *targetConn { return h.idle.Front().Value.(*targetConn) }

// rank moves a holder to its place in the ranking. Called with mu held.
func (s *connSet) rank(h *holder) {
	switch {
	case h.rank < 0:
		heap.Push(&s.ranking, h)
	case h.idle.Len() == 0:
		heap.Remove(&s.ranking, h.rank)
	default:
		heap.Fix(&s.ranking, h.rank)
	}
}

// ranking is a heap of accounts by their idle connections: the most first, and of
// equal ones the account with the one that has been idle for longest.
type ranking []*holder

func (r ranking) Len() int { return len(r) }

func (r ranking) Less(i, j int) bool {
	a, b := r[i], r[j]
	if a.idle.Len() != b.idle.Len() {
		return a.idle.Len() > b.idle.Len()
	}
	// One that is being removed has none.
	return a.idle.Len() > 0 && a.longest().used.clock.Before(b.longest().used.clock)
}

func (r ranking) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].rank, r[j].rank = i, j
}

// Push implements heap.Interface.
func (r *ranking) Push(x any) {
	h := x.(*holder)
	h.rank = len(*r)
	*r = append(*r, h)
}

// Pop implements heap.Interface.
func (r *ranking) Pop() any {
	last := len(*r) - 1
	h := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	h.rank = -1
	return h
}
