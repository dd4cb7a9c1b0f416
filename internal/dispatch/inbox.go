package dispatch

import (
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// later is how long news that nothing waits for may stay in the inbox: to
// wake the loop for each was a twentieth of the CPU at a steady load.
const later = 50 * time.Millisecond

// inbox is what other goroutines hand over to the loop.
type inbox struct {
	mu      sync.Mutex
	news    news
	urgent  bool // something waits for a slot or for bytes: all news wakes the loop
	pending bool // there is news that has not woken the loop
	timed   bool // a timer runs that will wake it
	wake    chan struct{}
}

// news is what the loop takes in at its next step.
type news struct {
	hints         []store.QueueKey // items that were stored
	dueElsewhere  time.Time        // the earliest due time of what other nodes stored
	peeked        *peekResult
	claimed       []*entry // claims that were committed
	dropped       []*entry // claims that will not be fired
	claimsDone    [2]int   // claims that have ended, by kind
	confirmations bool     // a batch of confirmations has ended:
	confirmed     []*entry // its claims
	ended         []*entry // attempts whose request is over
	finished      []*entry // attempts whose outcome is stored
}

// post adds to the news and wakes the loop. add must not block.
func (b *inbox) post(add func(*news)) {
	b.mu.Lock()
	add(&b.news)
	b.mu.Unlock()
	b.poke()
}

// postLater is post for news that is not urgent: it wakes the loop at once only if
// something waits, else after a while, if nothing else has. add must not block.
func (b *inbox) postLater(add func(*news)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	add(&b.news)
	b.pending = true
	switch {
	case b.urgent:
		b.poke()
	case !b.timed:
		b.timed = true
		time.AfterFunc(later, b.wakeLate)
	}
}

// wakeLate wakes the loop if there is news that it has not taken in.
func (b *inbox) wakeLate() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timed = false
	if b.pending {
		b.poke()
	}
}

// setUrgent sets whether something waits for a slot or for bytes. If so, and there is
// news, it wakes the loop.
func (b *inbox) setUrgent(urgent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.urgent = urgent; urgent && b.pending {
		b.poke()
	}
}

// take returns the news since the last call.
func (b *inbox) take() news {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.news
	b.news, b.pending = news{}, false
	return n
}

// poke wakes the loop.
func (b *inbox) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
