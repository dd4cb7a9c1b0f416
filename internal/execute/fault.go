package execute

import (
	"errors"
	"math/rand/v2"
	"net"
	"strings"
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

// faults counts consecutive local faults.
type faults struct{ inRow atomic.Int64 }

func (f *faults) over() {
	if f.inRow.Load() != 0 {
		f.inRow.Store(0)
	}
}

// wait returns how long to wait after another fault, from 1 to 45 s with
// jitter: the more consecutive faults, the longer.
func (f *faults) wait() time.Duration {
	wait := maxFaultWait
	// Many attempts meet the same fault at once, so the wait doubles every 100
	// faults.
	if doubled := f.inRow.Add(1) / 100; doubled < 5 {
		wait = faultWait << doubled
	}
	return (wait + time.Duration(rand.Int64N(int64(wait)/2))).Truncate(time.Millisecond)
}

// relieve closes idle connections to free resources, and returns how long an
// attempt that met a local fault has to wait.
func (c *Client) relieve() time.Duration {
	c.conns.closeIdle(time.Now())
	return c.faults.wait()
}
