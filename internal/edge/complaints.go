package edge

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// complainEvery is how often the log tells that calls are answered with 503:
// while the store is away, every call is.
const complainEvery = 5 * time.Second

// Complaints logs calls that failed. Its zero value is ready.
type Complaints struct {
	mu     sync.Mutex
	last   time.Time
	unsaid int // calls answered with 503 since
}

// Log logs a call that failed. Of those answered with 503 it logs the first, and
// then one every few seconds with how many were left out.
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
