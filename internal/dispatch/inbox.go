package dispatch

import (
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// inbox is what other goroutines hand over to the loop.
type inbox struct {
	mu   sync.Mutex
	news news
	wake chan struct{}
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

// take returns the news since the last call.
func (b *inbox) take() news {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.news
	b.news = news{}
	return n
}

// poke wakes the loop.
func (b *inbox) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
