package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestParse_TakesFactorsInRangeOnly(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "1.5": 1.5, "32": 32} {
		if got, ok := parse(text); !ok || got != want {
			t.Errorf("%q is read as %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "0", "0.5", "-2", "33", "NaN", "Inf", "fast"} {
		if got, ok := parse(text); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestStep_RoundsUpAndIsBounded(t *testing.T) {
	for of, want := range map[float64]float64{0.1: 1, 1: 1, 1.01: 1.5, 2: 2, 2.1: 3, 9: 12, 1000: 32} {
		if got := step(of); got != want {
			t.Errorf("the step of %v is %v, want %v", of, got, want)
		}
	}
}

func TestGuard_IsThreeMinutesAtLeastAndGrowsWithTheFactor(t *testing.T) {
	if got, want := Guard(time.Second), Limit(3*time.Minute); got != want {
		t.Errorf("a guard of 1s is %s, want %s", got, want)
	}
	if got, want := Guard(time.Hour), Limit(time.Hour); got != want {
		t.Errorf("a guard of 1h is %s, want %s", got, want)
	}
	if Limit(time.Second) < time.Second {
		t.Errorf("a limit of 1s is %s", Limit(time.Second))
	}
}

func TestMeasure_ReturnsAFactor(t *testing.T) {
	if got := measure(rounds); got <= 0 {
		t.Errorf("the measured factor is %v", got)
	}
}

func TestWatch_ReturnsQuantilesSinceATime(t *testing.T) {
	w := &Watch{}
	began := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	w.note(began, time.Hour)
	for i := range 100 {
		w.note(began.Add(time.Duration(i+1)*time.Second), time.Duration(i)*time.Millisecond)
	}
	since := began.Add(time.Second)
	if got := w.Late(since, 0.99); got != 98*time.Millisecond {
		t.Errorf("the 99th percentile is %s", got)
	}
	if got := w.Slack(since); got != 20*98*time.Millisecond {
		t.Errorf("the slack is %s", got)
	}
	if got := w.Late(began.Add(time.Hour), 0.99); got != beat {
		t.Errorf("of no measurement the lateness is %s, want %s", got, beat)
	}
}

func TestWatch_MeasuresAndIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Start()
		time.Sleep(2 * most * beat)
		w.Stop()
		if n := len(w.late); n > most || n < most/2 {
			t.Errorf("%d measurements are kept", n)
		}
		if got := w.Late(time.Time{}, 1); got != 0 {
			t.Errorf("in a bubble a timer was %s late", got)
		}
	})
}
