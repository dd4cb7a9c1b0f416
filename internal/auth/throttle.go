package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/punctual-dev/punctual/internal/fault"
	networks "github.com/punctual-dev/punctual/internal/network"
)

// tryAgain is when another try makes sense after one that found no room.
const tryAgain = 5 * time.Second

// throttle lets a few attempts of each key come at once and then one every so
// often. What it remembers is bounded: of two generations of keys the older is
// forgotten when the younger is full.
type throttle struct {
	every time.Duration
	burst int

	mu            sync.Mutex
	recent, older map[string]*rate.Limiter
}

// maxThrottled is how many keys a generation has.
const maxThrottled = 20_000

func newThrottle(burst int, every time.Duration) *throttle {
	return &throttle{every: every, burst: burst, recent: map[string]*rate.Limiter{}}
}

// allow counts an attempt; a TooMany fault when there were too many.
func (t *throttle) allow(key string, now time.Time) error {
	r := t.limiter(key).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return &fault.Error{Code: fault.TooMany, Message: "too many attempts; wait a little and try again", RetryAfter: wait}
}

func (t *throttle) limiter(key string) *rate.Limiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.recent[key]
	if l != nil {
		return l
	}
	if l = t.older[key]; l == nil {
		l = rate.NewLimiter(rate.Every(t.every), t.burst)
	}
	if len(t.recent) >= maxThrottled {
		t.recent, t.older = map[string]*rate.Limiter{}, t.recent
	}
	t.recent[key] = l
	return l
}

// forget ends the count of a key.
func (t *throttle) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.recent, key)
	delete(t.older, key)
}

// familiar remembers keys that have proved right. It forgets as a throttle does.
type familiar struct {
	mu            sync.Mutex
	recent, older map[string]bool
}

func newFamiliar() *familiar { return &familiar{recent: map[string]bool{}} }

func (f *familiar) add(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.recent) >= maxThrottled {
		f.recent, f.older = map[string]bool{}, f.recent
	}
	f.recent[key] = true
}

func (f *familiar) has(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.recent[key] || f.older[key]
}

// network gives what attempts from an address are counted by: a household has
// one IPv4 address, but very many of IPv6.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	return networks.Of(ip).String()
}
