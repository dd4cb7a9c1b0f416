package rehearse

import (
	"context"
	"testing"
)

// leaving is a context that ends after it was asked a number of times.
type leaving struct {
	context.Context
	asked, stays int
}

func (l *leaving) Err() error {
	if l.asked++; l.asked > l.stays {
		return context.Canceled
	}
	return nil
}

// TestRun_EndsWithItsContext verifies that no work is done once the context has ended, and
// that it is asked often.
func TestRun_EndsWithItsContext(t *testing.T) {
	p := func() *Plan {
		return &Plan{From: at(t, "2027-01-01T00:00:00Z"), To: at(t, "2028-01-01T00:00:00Z"),
			Entries: []Entry{entry(t, "x", `"cron":"*/5 * * * *","retries":3`, at(t, "2027-01-01T00:00:00Z"))},
			Fail:    map[string]float64{"x": 0.5}}
	}
	whole := &leaving{Context: t.Context(), stays: 1 << 30}
	if _, err := Run(whole, p()); err != nil {
		t.Fatal(err)
	}
	if whole.asked < 100 {
		t.Errorf("the context was asked %d times in 100,000 runs", whole.asked)
	}
	for _, stays := range []int{0, 1, 7} {
		l := &leaving{Context: t.Context(), stays: stays}
		if r, err := Run(l, p()); err != context.Canceled || r != nil || l.asked != stays+1 {
			t.Errorf("after %d: %v, asked %d times", stays, err, l.asked)
		}
	}
}
