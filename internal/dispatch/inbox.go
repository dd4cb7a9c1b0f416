package dispatch

import (
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// later is how long news that nothing waits for may lie before the loop takes it in.
// Each time that it wakes up costs about as much as firing a job.
const later = 50 * time.Millisecond

// inbox is what other goroutines hand over to the loop.
type inbox struct {
	mu    sync.Mutex
	news  news
	lying bool // there is news of which the loop was not told
	timed bool // the loop will be told of it
	eager bool // the loop waits for any news
	wake  chan struct{}
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

// postLater is post for news that has time: the loop takes it in when it is eager, when
// something else wakes it, or later. add must not block.
func (b *inbox) postLater(add func(*news)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	add(&b.news)
	b.lying = true
	switch {
	case b.eager:
		b.poke()
	case !b.timed:
		b.timed = true
		time.AfterFunc(later, b.remind)
	}
}

// remind wakes the loop if there is news that it has not taken in.
func (b *inbox) remind() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timed = false
	if b.lying {
		b.poke()
	}
}

// await sets whether the loop waits for any news. If so, and some lies there, it
// wakes the loop.
func (b *inbox) await(eager bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.eager = eager; eager && b.lying {
		b.poke()
	}
}

// take returns the news since the last call.
func (b *inbox) take() news {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.news
	b.news, b.lying = news{}, false
	return n
}

// poke wakes the loop.
func (b *inbox) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
