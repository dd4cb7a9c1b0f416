package pace

import (
	"slices"
	"sync"
	"time"
)

// beat is how often a Watch measures.
const beat = 20 * time.Millisecond

// most bounds what a Watch keeps: the first twenty minutes.
const most = 60_000

// Watch measures how late timers wake a goroutine that has nothing to do with the
// service. It tells a busy machine from a service that is slow.
type Watch struct {
	mu   sync.Mutex
	late []time.Duration
	stop chan struct{}
	done chan struct{}
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
	for due := time.Now().Add(beat); ; due = time.Now().Add(beat) {
		timer.Reset(beat)
		select {
		case <-w.stop:
			return
		case <-timer.C:
			w.note(max(0, time.Since(due)))
		}
	}
}

func (w *Watch) note(late time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.late) < most {
		w.late = append(w.late, late)
	}
}

// Stop ends the measuring.
func (w *Watch) Stop() {
	close(w.stop)
	<-w.done
}

// Late returns a quantile of how late timers were since the last call, or since the
// beginning; of no measurement at all, which is a sign of a busy machine, a beat.
func (w *Watch) Late(quantile float64) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := w.late
	w.late = nil
	if len(late) == 0 {
		return beat
	}
	slices.Sort(late)
	return late[int(float64(len(late)-1)*quantile)]
}
