package postgres

import (
	"testing"
	"time"
)

func TestPresence_TheNextProbeIsWhenAFreeLockEndsALease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		free        time.Duration
		least, most time.Duration
	}{
		"just seen":           {0, watchPause, watchPause},
		"for a while":         {300 * time.Millisecond, 1, 100 * time.Millisecond},
		"too long, not ended": {500 * time.Millisecond, watchPause, watchPause},
	} {
		s := &Store{presence: presence{vacant: map[int64]time.Duration{7: awake() - c.free}}}
		if pause := s.nextProbe(); pause < c.least || pause > c.most {
			t.Errorf("%s: the next probe is %s later, want %s to %s", name, pause, c.least, c.most)
		}
	}
}
