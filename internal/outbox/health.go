package outbox

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// health is what /healthz shows.
type health struct {
	mu      sync.Mutex
	active  bool
	source  string    // what is wrong with the database; "" if nothing is
	service string    // likewise with the service
	since   time.Time // when it became so
}

func (h *health) start() { h.source, h.since = "not connected yet", time.Now() }

func (h *health) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.source != "" || h.service != ""
	if f(); before != (h.source != "" || h.service != "") {
		h.since = time.Now()
	}
}

func (h *health) sourceIs(err error) {
	h.change(func() {
		if h.source = ""; err != nil {
			h.source = "the database of the outbox can't be used: " + err.Error()
		}
	})
}

func (h *health) serviceIs(held *hold) {
	h.change(func() {
		if h.service = ""; held != nil {
			h.service = held.reason
		}
	})
}

func (h *health) activeIs(active bool) {
	h.change(func() {
		if h.active = active; !active {
			h.service = "" // another relay knows
		}
	})
}

// Health returns whether rows are relayed, and what to show.
func (r *Relay) Health() (ok bool, text []byte) {
	h := &r.health
	h.mu.Lock()
	defer h.mu.Unlock()
	shown := struct {
		Status  string    `json:"status"`
		Role    string    `json:"role"`
		Source  string    `json:"source,omitempty"`
		Service string    `json:"service,omitempty"`
		Since   time.Time `json:"since"`
	}{"ok", "standby", h.source, h.service, h.since.UTC().Truncate(time.Millisecond)}
	if h.active {
		shown.Role = "active"
	}
	if ok = h.source == "" && h.service == ""; !ok {
		shown.Status = "waiting"
	}
	text, _ = json.Marshal(shown)
	return ok, text
}

// ServeHealth responds to /healthz: 200 if rows are relayed or another relay does so,
// 503 if they wait.
func (r *Relay) ServeHealth(w http.ResponseWriter, _ *http.Request) {
	ok, text := r.Health()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write(append(text, '\n'))
}
