package eventstream

import (
	"bytes"
	"context"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// beatEvery is how often a stream says that it is alive.
	beatEvery = 15 * time.Second
	// writeWithin is how long a client may take to read what is written at once.
	writeWithin = 15 * time.Second
	// hintEvery is the shortest time between two hints.
	hintEvery = time.Second
	// maxLife is the longest a stream lasts.
	maxLife = 15 * time.Minute
	// maxQueued is how many bytes wait for a reader, eventSize what an event
	// counts beside its text.
	maxQueued = 1 << 20
	eventSize = 64
	// replayPage is how many logs are read at once for a client that comes back,
	// replayBytes how many bytes of them about, replayPages how many times.
	replayPage  = 100
	replayBytes = 1 << 20
	replayPages = 10
)

// event is one event. Without its text, the record that it names is read when
// it is written.
type event struct {
	log  uuid.UUID // of a log
	job  int64     // of a job
	text []byte
}

// hint is the event that reports any change.
var hint = event{text: []byte("event: job\ndata: {}\n\n")}

var skipped = event{text: []byte("event: skipped\ndata: {}\n\n")}

func jobEvent(j *job.Job) event {
	return event{job: j.Number, text: append(job.AppendJob([]byte("event: job\ndata: "), j, false), "\n\n"...)}
}

func logEvent(l *job.Log) event {
	b := append([]byte("event: log\nid: "), l.ID.String()...)
	return event{log: l.ID, text: append(job.AppendLog(append(b, "\ndata: "...), l), "\n\n"...)}
}

// Stream is one reader's share of an account's events.
type Stream struct {
	hub     *Hub
	owner   job.Owner
	network netip.Prefix // of the client
	hints   bool         // only that something has happened
	last    uuid.UUID    // the log that the reader has seen last; uuid.Nil for none
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
	if s.behind || s.hints && slices.ContainsFunc(s.queue, func(known event) bool { return bytes.Equal(known.text, e.text) }) {
		return
	}
	if s.hub.held.Add(int64(len(e.text))) > maxHeld && (e.job != 0 || e.log != uuid.Nil) {
		s.hub.held.Add(-int64(len(e.text)))
		e.text = nil
	}
	s.queue = append(s.queue, e)
	if s.size += eventSize + len(e.text); s.size > maxQueued {
		s.drop()
		s.behind = true
	}
}

// drop empties the queue. Called with mu held.
func (s *Stream) drop() (events []event) {
	for _, e := range s.queue {
		s.hub.held.Add(-int64(len(e.text)))
	}
	events = s.queue
	s.queue, s.size = nil, 0
	return events
}

func (s *Stream) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Add adds a caller-defined event without a record to the stream. It does not
// block.
func (s *Stream) Add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(event{text: []byte("event: " + name + "\ndata: {}\n\n")})
	s.wake()
}

func (s *Stream) take() (events []event, behind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drop(), s.behind
}

// Close ends the stream.
func (s *Stream) Close() {
	s.hub.leave(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	s.behind = true // nothing more is kept for it
}

// Serve writes the stream as the response to a request. It returns when the client
// disconnects or falls behind, the stream has reached its longest duration, the hub
// is closed, or permit, which it calls every 15 seconds, returns an Unauthorized
// fault. It closes the stream.
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
			switch fault.CodeOf(permit(r.Context())) {
			case fault.Unauthorized, fault.Forbidden:
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
			s.write(r.Context(), out, slices.DeleteFunc(events, func(e event) bool { return seen[e.log] }))
		}
	}
}

// write writes events: those that have a text together, others one by one.
func (s *Stream) write(ctx context.Context, out *writer, events []event) {
	var b []byte
	for _, e := range events {
		if e.text != nil {
			b = append(b, e.text...)
			continue
		}
		out.write(b)
		b = b[:0]
		if out.failed {
			return
		}
		s.writeLarge(ctx, out, e)
	}
	out.write(b)
}

// writeLarge reads the record that an event names and writes it. It omits a record
// that was removed.
func (s *Stream) writeLarge(ctx context.Context, out *writer, e event) {
	ctx, release := admission.Hold(ctx)
	defer release()
	var err error
	if e.job != 0 {
		var jobs []*job.Job
		jobs, err = s.hub.Store.JobGetMany(ctx, s.owner, []job.Ref{{Number: e.job}})
		for _, j := range jobs {
			if j != nil {
				out.write(jobEvent(j).text)
			}
		}
	} else {
		var logs []*job.Log
		logs, err = s.hub.Store.LogGetMany(ctx, s.owner, []uuid.UUID{e.log})
		for _, l := range logs {
			out.write(logEvent(l).text)
		}
	}
	if err != nil {
		out.failed = true // the client comes back
	}
}

// replay writes the logs after the last one seen, and returns which they are.
func (s *Stream) replay(r *http.Request, out *writer) map[uuid.UUID]bool {
	seen := map[uuid.UUID]bool{}
	if s.last == uuid.Nil {
		return seen
	}
	q := job.LogQuery{ListQuery: job.ListQuery{Limit: replayPage, AfterID: s.last, Bytes: replayBytes}, Oldest: true}
	for range replayPages {
		more := s.replayPage(r.Context(), out, &q, seen)
		if !more || out.failed {
			return seen
		}
	}
	out.write(skipped.text)
	return seen
}

// replayPage writes a page of logs and reports whether there may be more.
func (s *Stream) replayPage(ctx context.Context, out *writer, q *job.LogQuery, seen map[uuid.UUID]bool) (more bool) {
	ctx, release := admission.Hold(ctx)
	defer release()
	logs, err := s.hub.Store.LogList(ctx, s.owner, *q)
	if err != nil {
		out.failed = true // the client comes back
		return false
	}
	size := 0
	var b []byte
	for _, l := range logs {
		seen[l.ID] = true
		q.AfterID = l.ID
		size += job.LogSize(l)
		b = append(b, logEvent(l).text...)
	}
	out.write(b)
	return len(logs) == replayPage || size > q.Bytes
}

// writer writes pieces, each with a deadline.
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
