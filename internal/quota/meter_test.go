package quota

import (
	"fmt"
	"testing"
	"time"
)

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func newClock() *clock { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

// let counts how many of n calls are allowed at one moment.
func let(m *Meter[string], c *clock, key string, rate Rate, n int) (allowed int) {
	for range n {
		if m.Take(key, rate, 0, 1, c.now).Allowed {
			allowed++
		}
	}
	return allowed
}

func TestMeter_AllowsASecondsWorthAtOnce(t *testing.T) {
	for rate, burst := range map[Rate]int{1: 1, 5: 5, 2.5: 2, 0.5: 1, 100: 100, 0.0001: 1, 1e-30: 1} {
		c := newClock()
		m := NewMeter[string](c.now)
		if got := let(m, c, "a", rate, 200); got != burst {
			t.Errorf("%v a second: %d at once, want %d", rate, got, burst)
		}
	}
}

func TestMeter_EnforcesTheRateOverTime(t *testing.T) {
	for rate, want := range map[Rate]int{5: 5 + 50, 2.5: 2 + 25, 0.5: 1 + 5} {
		c := newClock()
		m := NewMeter[string](c.now)
		got := let(m, c, "a", rate, 50)
		for range 10_000 {
			c.pass(time.Millisecond)
			got += let(m, c, "a", rate, 2)
		}
		if got != want {
			t.Errorf("%v a second: %d calls in ten seconds, want %d", rate, got, want)
		}
	}
}

func TestTake_ReportsWhatIsLeft(t *testing.T) {
	c := newClock()
	m := NewMeter[string](c.now)
	want := []string{
		"true 4 200ms 0s", "true 3 400ms 0s", "true 2 600ms 0s", "true 1 800ms 0s", "true 0 1s 0s", "false 0 1s 200ms", "false 0 1s 200ms",
	}
	for i, w := range want {
		n := m.Take("a", 5, 0, 1, c.now)
		if got := fmt.Sprint(n.Allowed, n.Left, n.Reset, n.Wait); got != w {
			t.Errorf("call %d: %s, want %s", i, got, w)
		}
	}
	c.pass(200 * time.Millisecond)
	if n := m.Take("a", 5, 0, 1, c.now); !n.Allowed || n.Left != 0 {
		t.Errorf("after the wait: %+v", n)
	}
}

func TestReturn_UndoesACall(t *testing.T) {
	c := newClock()
	m := NewMeter[string](c.now)
	m.Return("a", 2, 1, c.now) // nothing was taken
	for range 5 {
		if !m.Take("a", 2, 0, 1, c.now).Allowed {
			t.Fatal("a call is refused though those before were returned")
		}
		m.Return("a", 2, 1, c.now)
	}
	if got := let(m, c, "a", 2, 10); got != 2 {
		t.Errorf("%d calls at once, want 2", got)
	}
	m.Return("a", 2, 1, c.now)
	if got := let(m, c, "a", 2, 10); got != 1 {
		t.Errorf("%d calls after one was returned", got)
	}
	m.Return("a", 2, 2, c.now)
	if got := let(m, c, "a", 2, 10); got != 2 {
		t.Errorf("%d calls after both were returned", got)
	}
}

func TestMeter_ZeroIsUnlimited(t *testing.T) {
	c := newClock()
	m := NewMeter[string](c.now)
	if got := let(m, c, "a", 0, 100_000); got != 100_000 {
		t.Errorf("%d calls", got)
	}
}

func TestTake_CountsEachItemOfARequest(t *testing.T) {
	c := newClock()
	m := NewMeter[string](c.now)
	take := func(before, calls int64) bool { return m.Take("a", 5, before, calls, c.now).Allowed }
	if !take(0, 1) || !take(1, 5) {
		t.Error("five items on a full second's worth are refused")
	}
	if take(0, 1) {
		t.Error("a sixth call is allowed")
	}
	c.pass(time.Second)
	if !take(0, 1) || !take(1, 1000) {
		t.Error("a request larger than a second's worth does not count as one")
	}
	c.pass(800 * time.Millisecond)
	if !take(0, 1) {
		t.Fatal("one of four calls is refused")
	}
	n := m.Take("a", 5, 1, 5, c.now)
	if n.Allowed || n.Wait != 200*time.Millisecond {
		t.Errorf("five items where there is room for four: %+v", n)
	}
	c.pass(n.Wait)
	if !take(0, 1) || !take(1, 5) {
		t.Error("after the wait it is refused again")
	}
}

func TestMeter_RatesMayChange(t *testing.T) {
	c := newClock()
	m := NewMeter[string](c.now)
	let(m, c, "a", 0.01, 5)
	if got := let(m, c, "a", 5, 10); got > 0 {
		t.Errorf("%d at once after the rate was raised", got)
	}
	c.pass(time.Second)
	if got := let(m, c, "a", 5, 10); got != 5 {
		t.Errorf("%d a second after the rate was raised, want 5", got)
	}
}

// A caller with 10,000 busy addresses neither uses up others' rates nor evicts
// their counts.
func TestMeter_ManyKeysDontAffectOthers(t *testing.T) {
	c := newClock()
	m := NewMeter[string](c.now)
	if got := let(m, c, "spent", 5, 10); got != 5 {
		t.Fatalf("%d calls", got)
	}
	for i := range 10_000 {
		let(m, c, fmt.Sprint("attacker ", i), 5, 6)
	}
	if got := let(m, c, "spent", 5, 10); got != 0 {
		t.Errorf("%d more calls of a key that had used up its rate", got)
	}
	short := 0
	for i := range 1000 {
		if let(m, c, fmt.Sprint("victim ", i), 5, 5) < 5 {
			short++
		}
	}
	// A victim shares all three of its cells with a chance of (0.15)^3.
	if short > 30 {
		t.Errorf("%d of 1,000 others got less than their rate", short)
	}
}

func TestMeter_NoKeyGetsMoreThanItsRate(t *testing.T) {
	c := newClock()
	m := NewMeter[string](c.now)
	got := 0
	for i := range 5000 {
		c.pass(time.Millisecond)
		for k := range 20 {
			let(m, c, fmt.Sprint("other ", i, k), 50, 1)
		}
		got += let(m, c, "a", 20, 1)
	}
	if got > 20+5*20 || got < 5*20 {
		t.Errorf("%d calls in five seconds, want 100 to 120", got)
	}
}

func TestRate_Policy(t *testing.T) {
	for rate, want := range map[Rate]string{100: "100 1", 2.5: "2 1", 1: "1 1", 0.5: "1 2", 0.3: "1 4", 1e-9: "1 86400"} {
		calls, seconds := rate.Policy()
		if got := fmt.Sprint(calls, seconds); got != want {
			t.Errorf("%v a second: %s, want %s", rate, got, want)
		}
	}
}

func BenchmarkMeter(b *testing.B) {
	c := newClock()
	m := NewMeter[int64](c.now)
	for i := int64(0); b.Loop(); i++ {
		m.Take(i&1023, 100, 0, 1, c.now)
	}
}
