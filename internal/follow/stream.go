package follow

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// beatEvery is how often a stream says that it is alive.
	beatEvery = 15 * time.Second
	// writeWithin is how long a client may take to read what is written at once.
	writeWithin = 15 * time.Second
	// hintEvery lies between two hints at the least.
	hintEvery = time.Second
	// maxLife is how long a stream lasts.
	maxLife = 15 * time.Minute
	// maxQueued is how many bytes wait for a reader.
	maxQueued = 4 << 20
	// replayPage is how many logs are read at once for a client that comes back,
	// replayPages how many times.
	replayPage  = 100
	replayPages = 10
)

// event is one event as it is written.
type event struct {
	log  uuid.UUID // of a log
	text []byte
}

// hint stands for whatever has happened.
var hint = event{text: []byte("event: job\ndata: {}\n\n")}

var skipped = event{text: []byte("event: skipped\ndata: {}\n\n")}

func jobEvent(j *job.Job) event {
	return event{text: append(job.AppendJob([]byte("event: job\ndata: "), j, false), "\n\n"...)}
}

func logEvent(l *job.Log) event {
	b := append([]byte("event: log\nid: "), l.ID.String()...)
	return event{log: l.ID, text: append(job.AppendLog(append(b, "\ndata: "...), l), "\n\n"...)}
}

// Stream is one reader's share of an account's events.
type Stream struct {
	hub     *Hub
	owner   job.Owner
	hints   bool      // only that something has happened
	last    uuid.UUID // the log that the reader has seen last; uuid.Nil for none
	watcher *watcher
	more    chan struct{}

	mu     sync.Mutex
	queue  []event
	size   int
	behind bool // the queue was full: the reader has missed something
}

// push puts events into the queue. It does not block.
func (s *Stream) push(events []event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(events) == 0 {
		return
	}
	if s.hints {
		events = []event{hint}
	}
	for _, e := range events {
		s.add(e)
	}
	s.wake()
}

// add queues an event; of a hint that nobody has read yet there is one. Called
// with mu held.
func (s *Stream) add(e event) {
	if s.hints && slices.ContainsFunc(s.queue, func(known event) bool { return bytes.Equal(known.text, e.text) }) {
		return
	}
	if s.size += len(e.text); s.size > maxQueued {
		s.queue, s.behind = nil, true
	}
	if !s.behind {
		s.queue = append(s.queue, e)
	}
}

func (s *Stream) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Tell puts an event of the caller's own into the stream, without a record. It
// does not block.
func (s *Stream) Tell(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(event{text: []byte("event: " + name + "\ndata: {}\n\n")})
	s.wake()
}

func (s *Stream) take() (events []event, behind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events = s.queue
	s.queue = nil
	if !s.behind {
		s.size = 0
	}
	return events, s.behind
}

// Close ends the stream.
func (s *Stream) Close() { s.hub.leave(s) }

// Serve writes the stream as the answer to a request, until the client goes
// away or falls behind, the stream has lasted long enough, or the hub is closed;
// and until permit, which is asked every 15 seconds, gives an Unauthorized fault.
// It closes the stream.
func (s *Stream) Serve(w http.ResponseWriter, r *http.Request, permit func(context.Context) error) {
	defer s.Close()
	out := &writer{w: w, control: http.NewResponseController(w)}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // proxies must not hold it back
	if r.Method == http.MethodHead {
		return
	}
	// The server's own deadlines are for requests that end.
	_ = out.control.SetReadDeadline(time.Time{})
	out.write([]byte(": following\nretry: 2000\n\n"))
	seen := s.replay(r, out)
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	life := time.NewTimer(maxLife)
	defer life.Stop()
	more := s.more
	rest := time.NewTimer(0)
	defer rest.Stop()
	for !out.failed {
		select {
		case <-r.Context().Done():
			return
		case <-s.hub.ctx.Done():
			return
		case <-life.C:
			return
		case <-beat.C:
			if err := permit(r.Context()); fault.CodeOf(err) == fault.Unauthorized {
				return
			}
			out.write([]byte(":\n\n"))
		case <-rest.C:
			more = s.more
		case <-more:
			if s.hints {
				more = nil
				rest.Reset(hintEvery)
			}
			events, behind := s.take()
			if behind {
				return
			}
			var b []byte
			for _, e := range events {
				if !seen[e.log] {
					b = append(b, e.text...)
				}
			}
			out.write(b)
		}
	}
}

// replay writes the logs behind the last one seen, and tells which they are.
func (s *Stream) replay(r *http.Request, out *writer) map[uuid.UUID]bool {
	seen := map[uuid.UUID]bool{}
	if s.last == uuid.Nil {
		return seen
	}
	q := store.LogQuery{ListQuery: store.ListQuery{Limit: replayPage, AfterID: s.last}, Oldest: true}
	for range replayPages {
		logs, err := s.hub.Store.LogList(r.Context(), s.owner, q)
		if err != nil {
			out.failed = true // the client comes back
			return seen
		}
		var b []byte
		for _, l := range logs {
			seen[l.ID] = true
			q.AfterID = l.ID
			b = append(b, logEvent(l).text...)
		}
		out.write(b)
		if len(logs) < replayPage || out.failed {
			return seen
		}
	}
	out.write(skipped.text)
	return seen
}

// writer writes pieces, each of which must be read within a time.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	failed  bool
}

func (o *writer) write(b []byte) {
	if len(b) == 0 || o.failed {
		return
	}
	_ = o.control.SetWriteDeadline(time.Now().Add(writeWithin))
	_, err := o.w.Write(b)
	if err == nil {
		err = o.control.Flush()
	}
	o.failed = err != nil
}
