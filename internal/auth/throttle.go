package auth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/punctual-dev/punctual/internal/fault"
	networks "github.com/punctual-dev/punctual/internal/network"
)

// tryAgain is the suggested wait after a full queue.
const tryAgain = 5 * time.Second

// throttle allows a burst of attempts per key and then one per interval. Its memory
// is bounded: it keeps two generations of keys and drops the older one when the
// newer one is full.
type throttle struct {
	every time.Duration
	burst int

	mu            sync.Mutex
	recent, older map[string]*rate.Limiter
}

// maxThrottled is how many keys a generation holds.
const maxThrottled = 20_000

func newThrottle(burst int, every time.Duration) *throttle {
	return &throttle{every: every, burst: burst, recent: map[string]*rate.Limiter{}}
}

// allow counts an attempt. It returns a TooMany fault if there were too many.
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

// forget resets the count of a key.
func (t *throttle) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.recent, key)
	delete(t.older, key)
}

// familiar remembers trusted keys, within the same bounds as a throttle.
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

// network returns the key by which attempts from an address are counted: the
// address itself for IPv4, a prefix for IPv6, where a household has very many.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	return networks.Of(ip).String()
}
