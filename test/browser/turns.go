package browser

import (
	"strings"
	"sync"
	"testing"
)

// turns keeps the machine from drawing more pages than it can: two tests have
// pages open at once, each as many as it likes, its subtests included. A test
// that waits for its turn has no page open, so there is no deadlock.
var turns = struct {
	sync.Mutex
	free *sync.Cond
	open map[string]int // pages by test
}{open: map[string]int{}}

const testsAtOnce = 2

// takeTurn waits until a test may open a page, and gives what ends its turn.
func takeTurn(t testing.TB) (end func()) {
	test, _, _ := strings.Cut(t.Name(), "/")
	turns.Lock()
	defer turns.Unlock()
	if turns.free == nil {
		turns.free = sync.NewCond(&turns)
	}
	for turns.open[test] == 0 && len(turns.open) >= testsAtOnce {
		turns.free.Wait()
	}
	turns.open[test]++
	return func() {
		turns.Lock()
		defer turns.Unlock()
		if turns.open[test]--; turns.open[test] == 0 {
			delete(turns.open, test)
			turns.free.Broadcast()
		}
	}
}
