package dispatch

import "time"

const (
	// flowRate is how many bytes a second the large items of an account may move
	// through the store on this node, and flowBurst how many at once after a
	// pause. Jobs and deliveries count apart. An item is stored up to six times
	// over, with its logs, its schedule and its deliveries, and others wait for
	// the same disk.
	flowRate  = 8 << 20
	flowBurst = 32 << 20
	// lightBytes of each item are free, so that small ones are not bounded.
	lightBytes = 16 << 10
	// flowPause is how soon the loop checks again whether an account that has
	// exceeded its flow may go on.
	flowPause = 10 * time.Millisecond
)

// flow is how many bytes an account has moved, less what flowRate has allowed
// since.
type flow struct {
	owed int64
	at   time.Time
}

// permits reports whether another item may move bytes now.
func (f *flow) permits(now time.Time) bool {
	passed := now.Sub(f.at)
	f.at = now
	if passed < 0 {
		passed = 0
	}
	f.owed = max(0, f.owed-int64(min(passed, time.Minute).Seconds()*flowRate))
	return f.owed < flowBurst
}

// heavyBytes is what counts of an item of some size.
func heavyBytes(size int64) int64 { return max(0, size-lightBytes) }

// spend sets how much an item has moved, as far as that is known.
func (l *lanes) spend(e *entry, bytes int64) {
	if a := l.byNumber[e.ref.Account]; a != nil {
		a.flow.owed += bytes - e.spent
	}
	e.spent = bytes
}
