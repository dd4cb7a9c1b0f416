package bench

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// progress shows what is being done: at a terminal in one live line, elsewhere
// in a line for each step, and one every now and then while a step takes long.
type progress struct {
	out      io.Writer
	terminal bool

	mu    sync.Mutex
	live  bool // a live line is shown
	step  string
	since time.Time
	done  *atomic.Int64
	total int
	stop  chan struct{}
	ended sync.WaitGroup
}

const (
	redraw    = 200 * time.Millisecond
	lineEvery = 10 * time.Second
	clearLine = "\r\x1b[K"
)

func newProgress(out io.Writer, terminal bool) *progress {
	p := &progress{out: out, terminal: terminal, stop: make(chan struct{})}
	every := lineEvery
	if terminal {
		every = redraw
	}
	p.ended.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.tick()
			case <-p.stop:
				return
			}
		}
	})
	return p
}

func (p *progress) close() {
	close(p.stop)
	p.ended.Wait()
	p.clear()
}

// begin says what is being done from now on; with a total, done counts how much
// of it has been.
func (p *progress) begin(step string, total int, done *atomic.Int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.since, p.total, p.done = step, time.Now(), total, done
	p.draw()
}

func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.step != "" {
		p.draw()
	}
}

func (p *progress) draw() {
	text := p.step
	done := p.done.Load()
	if p.total > 0 && (p.terminal || done > 0) {
		text += fmt.Sprintf(": %s of %s", thousands(int(done)), thousands(p.total))
	}
	if p.terminal {
		_, _ = fmt.Fprintf(p.out, "%s%s  %.0f s", clearLine, text, time.Since(p.since).Seconds())
		p.live = true
	} else {
		_, _ = fmt.Fprintln(p.out, text)
	}
}

// clear takes the live line away until the next step.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		_, _ = io.WriteString(p.out, clearLine)
		p.live = false
	}
	p.step = ""
}

// step sets what the trial does from now on, and returns the counter of how much
// of it is done.
func (t *trial) step(what string, total int) *atomic.Int64 {
	done := new(atomic.Int64)
	t.follow(what, total, done)
	return done
}

// follow is step with a counter that there is already.
func (t *trial) follow(what string, total int, done *atomic.Int64) {
	name := t.workload
	if t.Runs > 1 {
		name = fmt.Sprintf("%s %d/%d", name, t.run+1, t.Runs)
	}
	t.progress.begin(name+": "+what, total, done)
}
