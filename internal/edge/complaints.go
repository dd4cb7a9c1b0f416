package edge

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// complainEvery is how often a response with 503 is logged. While the store is
// unreachable, every response is one.
const complainEvery = 5 * time.Second

// Complaints logs calls that failed. Its zero value is ready.
type Complaints struct {
	mu     sync.Mutex
	last   time.Time
	unsaid int // 503 responses not logged since
}

// Log logs a call that failed. For status 503 it logs the first call, and then one
// every few seconds with the number of calls that were not logged.
func (c *Complaints) Log(log *slog.Logger, message string, status int, attributes ...any) {
	attributes = append(attributes, "status", status)
	if status == http.StatusServiceUnavailable {
		unsaid, say := c.unavailable()
		if !say {
			return
		}
		if unsaid > 0 {
			attributes = append(attributes, "left_out", unsaid)
		}
	}
	log.Log(context.Background(), slog.LevelError, message, attributes...)
}

// unavailable reports whether to log a 503, and how many were not logged before it.
func (c *Complaints) unavailable() (unsaid int, say bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.last.IsZero() && time.Since(c.last) < complainEvery {
		c.unsaid++
		return 0, false
	}
	unsaid, c.unsaid, c.last = c.unsaid, 0, time.Now()
	return unsaid, true
}
