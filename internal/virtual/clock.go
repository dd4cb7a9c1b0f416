package virtual

import (
	"sync/atomic"
	"time"
)

// Clock is the machine's clock, ahead of it by as much as it was moved. The zero Clock
// has not been moved.
type Clock struct{ ahead atomic.Int64 }

// Now returns the virtual time.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// moveTo moves the clock ahead to a time; not back.
func (c *Clock) moveTo(t time.Time) { c.ahead.Add(int64(max(0, t.Sub(c.Now())))) }
