package execute

import "time"

// moment is a point in time on both clocks: the monotonic one stands still while the
// machine is suspended, and the other one can be set back.
type moment struct {
	clock time.Time
	wall  int64 // nanoseconds since 1970
}

func present() moment {
	now := time.Now()
	return moment{now, now.UnixNano()}
}

// age returns how much time has passed since then.
func (m moment) age() time.Duration {
	now := present()
	return max(now.clock.Sub(m.clock), time.Duration(now.wall-m.wall))
}
