package execute

import (
	"context"

	"github.com/punctual-dev/punctual/internal/job"
)

// Prewarm opens connections to a URL's host ahead of a party's requests, until n are
// kept for it, or one if it carries many requests. With recent they are new ones, for
// requests that are Recent. It returns at once; Close ends what is under way. It ignores
// errors: the request that follows will report them. It does nothing for plain http,
// whose connections are cheap.
func (c *Client) Prewarm(party Party, rawURL string, n int, recent bool) {
	if u, err := parseURL(rawURL); err == nil && u.Scheme == "https" && !job.ToListener(u) {
		c.prewarm(ahead{route{party: party, to: hostPort(u)}, n, recent})
	}
}

// ahead is which connections are to be opened ahead.
type ahead struct {
	to     route
	n      int
	recent bool
}

func (c *Client) prewarm(want ahead) {
	if c.only2.has(want.to.to) {
		c.http2.prewarm(want.to, want.recent)
	} else {
		c.fill(want, true)
	}
}

// fill opens connections over which to speak HTTP/1.1, the first to a host alone: it
// shows whether the target is there and speaks that. check is whether to look first
// which connections are still alive.
func (c *Client) fill(want ahead, check bool) {
	s := c.conns
	s.mu.Lock()
	defer s.mu.Unlock()
	want.n = min(want.n, s.most)
	to, h := want.to, s.kept.host(want.to)
	defer s.kept.tidy(to, h)
	switch {
	case s.closed:
	case check && len(h.idle) > 0:
		c.openings.all.Go(func() {
			s.checkHost(to)
			c.fill(want, false)
		})
	case h.open == h.opening && want.n > 1:
		if h.open == 0 && c.mayOpenAhead(to) {
			c.openAhead(want, func() { c.fillUp(want) })
		}
	default:
		c.openRest(want, h)
	}
}

// fillUp opens the other connections after the first, if that was kept.
func (c *Client) fillUp(want ahead) {
	s := c.conns
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.kept.hosts[want.to]; h != nil && h.open > h.opening && !s.closed {
		c.openRest(want, h)
	}
}

// openRest opens connections until there are n. Called with conns.mu held.
func (c *Client) openRest(want ahead, h *poolHost) {
	have := h.open
	if want.recent {
		have = h.opening + h.unused()
	}
	for ; have < want.n && c.mayOpenAhead(want.to); have++ {
		c.openAhead(want, nil)
	}
}

// unused returns how many idle connections were opened ahead lately and not used since.
func (h *poolHost) unused() (n int) {
	for _, c := range h.idle {
		if c.kept.ahead && c.recent() {
			n++
		}
	}
	return n
}

// mayOpenAhead reports whether less has been opened ahead and not been used than may
// be idle, of the account and of all: more would only replace it. If it is too much in
// all, an account with more than this one loses a connection. Called with conns.mu held.
func (c *Client) mayOpenAhead(to route) bool {
	s, own := c.conns, 0
	if h := s.holders[to.party.Account]; h != nil {
		own = h.ahead
	}
	if s.kept.ahead < s.mostAll || own >= s.mostAccount {
		return own < s.mostAccount
	}
	spare := s.spareAhead(own + 1)
	if spare == nil {
		return false
	}
	s.endLocked(spare)
	s.use(spare)
	c.openings.all.Go(func() { _ = spare.Close() })
	return true
}

// spareAhead returns the connection opened ahead that has been idle for longest, of the
// account that has the most of them; nil if that has no more than own.
func (s *connSet) spareAhead(own int) *targetConn {
	var most *holder
	for _, h := range s.ranking {
		if h.ahead > own && (most == nil || h.ahead > most.ahead) {
			most = h
		}
	}
	if most == nil {
		return nil
	}
	for e := most.idle.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*targetConn); c.kept != nil && c.kept.ahead && !c.kept.busy {
			return c
		}
	}
	return nil
}

// openAhead opens a connection in a goroutine and then calls opened, which may be
// nil. Called with conns.mu held.
func (c *Client) openAhead(want ahead, opened func()) {
	to := want.to
	c.conns.kept.begin(to)
	c.conns.addAhead(to, 1)
	c.openings.all.Go(func() {
		var conn *targetConn
		err := c.openings.run(to.party.Account, func(ctx context.Context) (err error) {
			conn, err = c.open(ctx, to)
			return err
		})
		conn, err = c.conns.adopt(to, conn, nil, true, err)
		switch {
		case err == nil:
			c.conns.back(conn)
			if opened != nil {
				opened()
			}
		case refusesVersion(err):
			c.http2.prewarm(to, want.recent)
		}
	})
}
