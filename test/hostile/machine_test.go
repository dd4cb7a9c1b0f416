package hostile

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// beat is how often the machine is measured.
	beat = 20 * time.Millisecond
	// wakes is how often a process has to be given the processor, one after the
	// other, from the creating of a job to its request: by the client, the service
	// and the target.
	wakes = 20
)

// machine measures how late the machine wakes a goroutine that has nothing to do
// with the service. It tells a busy machine from a service that is slow.
type machine struct {
	mu   sync.Mutex
	late []time.Duration
}

// run measures until the context ends.
func (m *machine) run(ctx context.Context) {
	for ctx.Err() == nil {
		due := time.Now().Add(beat)
		pause(ctx, beat)
		m.mu.Lock()
		m.late = append(m.late, time.Since(due))
		m.mu.Unlock()
	}
}

// p99 returns the 99th percentile since the last call.
func (m *machine) p99() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	late := m.late
	m.late = nil
	if len(late) == 0 {
		return beat
	}
	slices.Sort(late)
	return late[(len(late)-1)*99/100]
}
