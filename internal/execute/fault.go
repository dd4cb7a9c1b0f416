package execute

import (
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// localFaults are the errors that mean that this machine has run out of
// descriptors, ports or memory. The target did not cause them.
var localFaults = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOMEM, syscall.ENOBUFS}

// localFault returns the local fault in err's chain, or 0.
func localFault(err error) syscall.Errno {
	var errno syscall.Errno
	var dns *net.DNSError
	switch {
	case errors.As(err, &errno):
		for _, fault := range localFaults {
			if errno == fault {
				return fault
			}
		}
	case errors.As(err, &dns): // keeps the text of its cause only
		for _, fault := range localFaults {
			if strings.HasSuffix(dns.Err, fault.Error()) {
				return fault
			}
		}
	}
	return 0
}

// isLocal reports whether err is a temporary fault of this machine. Without
// IPv6, a connection to an IPv6 address fails with EADDRNOTAVAIL, too; that is
// permanent and not a local fault.
func (c *Client) isLocal(err error) bool {
	fault := localFault(err)
	var op *net.OpError
	if fault == syscall.EADDRNOTAVAIL && errors.As(err, &op) {
		if to, ok := op.Addr.(*net.TCPAddr); ok && to.IP.To4() == nil {
			return c.targets.own.hasIPv6()
		}
	}
	return fault != 0
}

const (
	faultWait    = time.Second
	maxFaultWait = 30 * time.Second
)

// maxFaulty limits how many accounts' local faults are counted.
const maxFaulty = 1000

// faults counts consecutive local faults by account: one that lacks ports to its target
// makes no other wait longer.
type faults struct {
	any   atomic.Bool // some are counted
	mu    sync.Mutex
	inRow map[int64]int64
}

func (f *faults) over(account int64) {
	if !f.any.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.inRow, account)
	f.any.Store(len(f.inRow) > 0)
}

func (f *faults) count(account int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inRow == nil || len(f.inRow) >= maxFaulty {
		f.inRow = map[int64]int64{}
	}
	f.inRow[account]++
	f.any.Store(true)
	return f.inRow[account]
}

// wait returns how long to wait after another fault of an account, from 1 to 45 s with
// jitter: the more consecutive faults, the longer.
func (f *faults) wait(account int64) time.Duration {
	wait := maxFaultWait
	// Many attempts meet the same fault at once, so the wait doubles every 100
	// faults.
	if doubled := f.count(account) / 100; doubled < 5 {
		wait = faultWait << doubled
	}
	return (wait + time.Duration(rand.Int64N(int64(wait)/2))).Truncate(time.Millisecond)
}

const (
	// reliefEach is how many idle connections of its account a local fault closes: as
	// many as an attempt needs, with one to look up a name.
	reliefEach = 2
	// reliefOthers limits how many of other accounts local faults close within a second.
	reliefOthers = 32
)

// relief counts the idle connections that local faults of other accounts have closed.
type relief struct {
	from   moment // of the second that is counted
	closed int
}

// allows reports whether one more may be closed, and counts it.
func (r *relief) allows() bool {
	if r.from.age() >= time.Second {
		*r = relief{from: present()}
	}
	r.closed++
	return r.closed <= reliefOthers
}

// relieve closes idle connections to free resources, and returns how long an attempt of
// an account that met a local fault has to wait.
func (c *Client) relieve(account int64, err error) time.Duration {
	for _, conn := range c.conns.relieve(account, portsTo(err)) {
		_ = conn.Close()
	}
	return c.faults.wait(account)
}

// portsTo returns the address and port to which no port of this machine is free; "" if
// it lacks something else.
func portsTo(err error) string {
	var op *net.OpError
	if localFault(err) != syscall.EADDRNOTAVAIL || !errors.As(err, &op) || op.Addr == nil {
		return ""
	}
	return op.Addr.String()
}

// relieve returns idle connections that are to be closed: the account's own, and if it
// has none, those of the account that has the most. If ports to an address are what is
// lacking, others help only if they are to that one.
func (s *connSet) relieve(account int64, at string) []*targetConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*targetConn
	if h := s.holders[account]; h != nil {
		found = h.oldest(reliefEach, at)
	}
	if len(found) == 0 {
		if h := s.mostAt(at); h != nil && s.relief.allows() {
			found = h.oldest(1, at)
		}
	}
	for _, c := range found {
		s.endLocked(c)
	}
	return found
}

// oldest returns the connections that have been idle for longest, up to n, to an address
// and port if that is given.
func (h *holder) oldest(n int, at string) []*targetConn {
	if at != "" && h.at[at] == 0 {
		return nil
	}
	var found []*targetConn
	for e := h.idle.Front(); e != nil && len(found) < n; e = e.Next() {
		if c := e.Value.(*targetConn); at == "" || c.at == at {
			found = append(found, c)
		}
	}
	return found
}

// mostAt returns the account with the most idle connections to an address and port, or
// in all if none is given; nil if there are none. Called with mu held.
func (s *connSet) mostAt(at string) *holder {
	var most *holder
	switch {
	case len(s.ranking) == 0:
	case at == "":
		most = s.ranking[0]
	default:
		for _, h := range s.ranking {
			if n := h.at[at]; n > 0 && (most == nil || n > most.at[at]) {
				most = h
			}
		}
	}
	return most
}
