package dispatch

import "github.com/punctual-dev/punctual/internal/store"

const (
	// Budget is how many bytes the items that a node has claimed or under way
	// may hold in memory: requests, responses, and what is stored of both.
	Budget = 256 << 20
	// responseBytes is the estimate of what an attempt under way holds beside
	// its request, until its response is there.
	responseBytes = 64 << 10
	// unknownBytes is the estimate for an item before it is loaded, if its
	// account has fired none lately.
	unknownBytes = 128 << 10
	// batchBytes is what the items of one claim hold at most, apart from those
	// read last: what comes due meanwhile waits for the claim. writeBytes is
	// what is stored at once.
	batchBytes = 4 << 20
	writeBytes = 2 << 20
	// loadLimit is how many items are read at once, and loadBytes the most that
	// they are estimated to hold.
	loadLimit = 64
	loadBytes = 1 << 20
)

// budget counts the bytes in use by both kinds of items.
type budget struct {
	limit, used int64
}

// expected estimates what an item of an account holds before it is loaded.
func (a *account) expected() int64 {
	if a.heavy == 0 {
		return unknownBytes + responseBytes
	}
	return a.heavy + responseBytes
}

// affords reports whether the budget permits another item of an account. An
// account may use three quarters of the budget if it is alone, half otherwise.
// An account that holds nothing may exceed the budget by a quarter, so that one
// of its items gets through whatever the others do.
func (l *lanes) affords(a *account) bool {
	b, more := l.budget, a.expected()
	switch {
	case b == nil || b.limit <= 0:
		return true
	case a.bytes == 0:
		return b.used+more <= b.limit+b.limit/4 || b.used == 0
	case len(l.byNumber) == 1:
		return b.used+more <= b.limit*3/4
	default:
		return b.used+more <= b.limit && a.bytes+more <= b.limit/2
	}
}

// charge sets how much of the budget an item holds.
func (l *lanes) charge(e *entry, bytes int64) {
	if l.budget == nil {
		return
	}
	a := l.byNumber[e.ref.Account]
	if a == nil {
		a = l.account(e.ref.Account)
		l.rest(a)
	}
	a.bytes += bytes - e.bytes
	l.budget.used += bytes - e.bytes
	e.bytes = bytes
}

// learn updates the estimate of an account's item size.
func (l *lanes) learn(ref store.QueueKey, size int64) {
	if a := l.byNumber[ref.Account]; a != nil {
		a.heavy = max(size, a.heavy-a.heavy/8, 1)
	}
}

// loadable returns how many items of a batch to load at once: fewer if they may
// be large.
func loadable(batch []*entry) int {
	bytes := int64(0)
	for n, e := range batch {
		bytes += e.bytes - responseBytes
		if n == loadLimit || n > 0 && bytes > loadBytes {
			return n
		}
	}
	return len(batch)
}

// sizeOf returns what a prepared attempt and its claim hold.
func sizeOf(e *entry) int64 {
	return e.attempt.Size() + storedBytes(&e.claim)
}

// storedBytes returns about how many bytes a claim stores.
func storedBytes(c *store.Claim) int64 {
	n := int64(0)
	if c.Log != nil {
		n += int64(len(c.Log.Payload))
	}
	for i := range c.Deliveries {
		n += int64(len(c.Deliveries[i].Body))
	}
	return n
}
