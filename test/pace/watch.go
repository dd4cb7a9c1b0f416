package pace

import (
	"slices"
	"sync"
	"time"
)

const (
	// beat is how often a Watch measures.
	beat = 20 * time.Millisecond
	// most bounds how many measurements a Watch keeps: those of twenty minutes.
	most = 60_000
	// Wakes is how often a process has to be given the processor, one after the other,
	// from a cause to its effect: by the client, the service, its database and the target.
	Wakes = 20
)

// Watch measures how late timers wake a goroutine that has nothing to do with the
// service. It tells a busy machine from a service that is slow.
type Watch struct {
	mu   sync.Mutex
	late []measurement // the oldest first
	stop chan struct{}
	done chan struct{}
}

type measurement struct {
	at   time.Time
	late time.Duration
}

// Start begins to measure; the caller stops it.
func Start() *Watch {
	w := &Watch{stop: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *Watch) run() {
	defer close(w.done)
	timer := time.NewTimer(beat)
	defer timer.Stop()
	for {
		due := time.Now().Add(beat)
		timer.Reset(beat)
		select {
		case <-w.stop:
			return
		case <-timer.C:
			now := time.Now()
			w.note(now, max(0, now.Sub(due)))
		}
	}
}

func (w *Watch) note(at time.Time, late time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.late) >= most {
		w.late = slices.Delete(w.late, 0, most/10)
	}
	w.late = append(w.late, measurement{at, late})
}

// Stop ends the measuring.
func (w *Watch) Stop() {
	close(w.stop)
	<-w.done
}

// Late returns a quantile of how late timers were since a time: a beat if nothing was
// measured, which is too short a time or a sign of a busy machine.
func (w *Watch) Late(since time.Time, quantile float64) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, _ := slices.BinarySearchFunc(w.late, since, func(m measurement, t time.Time) int { return m.at.Compare(t) })
	var late []time.Duration
	for _, m := range w.late[first:] {
		late = append(late, m.late)
	}
	if len(late) == 0 {
		return beat
	}
	slices.Sort(late)
	return late[int(float64(len(late)-1)*quantile)]
}

// Slack returns how much later than on a machine with nothing else to do an effect may
// be whose cause was at a time: as late as timers were meanwhile, for each time that a
// process had to be woken.
func (w *Watch) Slack(since time.Time) time.Duration { return Wakes * w.Late(since, 0.99) }
