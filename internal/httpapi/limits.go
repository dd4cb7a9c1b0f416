package httpapi

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/punctual-dev/punctual/internal/fault"
)

// limits keeps each account to a number of calls a second.
type limits struct {
	perSecond rate.Limit
	mu        sync.Mutex
	accounts  map[int64]*rate.Limiter
}

func newLimits(perSecond float64) *limits {
	return &limits{perSecond: rate.Limit(perSecond), accounts: map[int64]*rate.Limiter{}}
}

// allow gives a TooMany fault when the account has called too often.
func (l *limits) allow(account int64) error {
	if l.perSecond <= 0 {
		return nil
	}
	l.mu.Lock()
	limiter := l.accounts[account]
	if limiter == nil {
		// A second's worth may come at once.
		limiter = rate.NewLimiter(l.perSecond, max(1, int(l.perSecond)))
		l.accounts[account] = limiter
	}
	l.mu.Unlock()
	reservation := limiter.Reserve()
	wait := reservation.Delay()
	if wait == 0 {
		return nil
	}
	reservation.Cancel()
	return &fault.Error{Code: fault.TooMany, Message: "too many calls; wait as long as Retry-After says", RetryAfter: max(wait, time.Millisecond)}
}
