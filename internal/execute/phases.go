package execute

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// phases measures how long the parts of an attempt take. It belongs to the goroutine of
// the attempt. Its methods do nothing on a nil one.
type phases struct {
	part  job.Phase // that is under way
	since time.Time
	spent job.Timings
}

// enter ends the part under way and begins another.
func (p *phases) enter(part job.Phase) {
	if p == nil {
		return
	}
	now := time.Now()
	if !p.since.IsZero() {
		p.spent[p.part] += now.Sub(p.since)
	}
	p.part, p.since = part, now
}

// took says how much of the time for a connection that was just opened was for DNS and
// for TLS.
func (p *phases) took(conn *targetConn) {
	for part, d := range map[job.Phase]time.Duration{job.DNSPhase: conn.lookup, job.TLSPhase: conn.handshake} {
		d = min(d, p.spent[job.ConnectPhase])
		p.spent[job.ConnectPhase] -= d
		p.spent[part] += d
	}
}

// end returns the timings of an attempt that ended with an outcome.
func (p *phases) end(failure *job.Failure) job.Timings {
	p.enter(p.part)
	if failure != nil {
		// The connection that took the time doesn't exist.
		for kind, part := range map[job.Kind]job.Phase{job.KindDNS: job.DNSPhase, job.KindTLS: job.TLSPhase} {
			if failure.Kind == kind {
				p.spent[part] += p.spent[job.ConnectPhase]
				p.spent[job.ConnectPhase] = 0
			}
		}
	}
	for i, d := range p.spent {
		if d = d.Truncate(time.Microsecond); d < negligible {
			d = 0
		}
		p.spent[i] = d
	}
	return p.spent
}

// negligible is how long a part takes at most to count as one that didn't happen, such as
// connecting while there is a connection.
const negligible = 20 * time.Microsecond
