package receiver

import (
	"container/list"
	"net/http"
	"sync"
	"time"
)

// New returns a handler that passes each verified message to next once, as far as
// memory reaches: ids are lost when the process ends. A repeat that arrives while the
// first is being handled waits for it.
func New(next http.Handler, options Options) (http.Handler, error) {
	options, err := options.withDefaults(24 * time.Hour)
	if err != nil {
		return nil, err
	}
	seen := &memory{options: options, entries: map[string]*list.Element{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r = options.verified(w, r); r != nil {
			seen.handle(w, r, next)
		}
	}), nil
}

// memory remembers messages in the order in which they were completed.
type memory struct {
	options Options

	mu      sync.Mutex
	entries map[string]*list.Element
	order   list.List // of *entry; those under way are not in it
	bytes   int
}

// entry is a message. Its response is set when done is closed; nil if it failed.
type entry struct {
	id       string
	at       time.Time
	done     chan struct{}
	response *response
}

// overhead is what an entry takes beside its texts, roughly.
const overhead = 256

func (e *entry) size() int {
	return overhead + len(e.id) + len(e.response.contentType) + len(e.response.body)
}

func (m *memory) handle(w http.ResponseWriter, r *http.Request, next http.Handler) {
	id := Message(r.Context()).ID
	for {
		e, first := m.enter(id)
		if first {
			m.first(w, r, next, e)
			return
		}
		select {
		case <-e.done:
			if e.response != nil {
				e.response.repeat(w)
				return
			}
		case <-r.Context().Done():
			m.options.unavailable(w, r, r.Context().Err())
			return
		}
	}
}

// enter returns the entry of a message, and whether the caller is to handle it.
func (m *memory) enter(id string) (*entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(0)
	if element, known := m.entries[id]; known {
		return element.Value.(*entry), false
	}
	e := &entry{id: id, done: make(chan struct{})}
	m.entries[id] = &list.Element{Value: e}
	return e, true
}

// first handles a message that is not known. Also after a panic others may go on.
func (m *memory) first(w http.ResponseWriter, r *http.Request, next http.Handler, e *entry) {
	var kept *response
	defer func() { m.leave(e, kept) }()
	recorder := newRecorder(m.options.MaxResponse)
	next.ServeHTTP(recorder, r)
	got, err := recorder.finish()
	if err != nil {
		m.options.unavailable(w, r, err)
		return
	}
	if got.ok() {
		kept = got
	}
	recorder.send(w)
}

// leave ends the handling of a message.
func (m *memory) leave(e *entry, kept *response) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.response, e.at = kept, m.options.Now()
	close(e.done)
	if kept == nil {
		delete(m.entries, e.id)
		return
	}
	m.forget(e.size())
	m.entries[e.id] = m.order.PushBack(e)
	m.bytes += e.size()
}

// forget drops what is too old, and the oldest until more bytes fit.
func (m *memory) forget(more int) {
	for {
		oldest := m.order.Front()
		if oldest == nil {
			return
		}
		e := oldest.Value.(*entry)
		full := more > 0 && (m.order.Len() >= m.options.MaxMessages || m.bytes+more > m.options.MaxBytes)
		if !full && m.options.Now().Sub(e.at) <= m.options.Remember {
			return
		}
		m.order.Remove(oldest)
		m.bytes -= e.size()
		delete(m.entries, e.id)
	}
}
