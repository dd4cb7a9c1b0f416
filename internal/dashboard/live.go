package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/store"
)

var liveRoutes = []route{
	{"/events", forMembers, map[string]handler{"GET": (*Server).events}},
}

const (
	// lookEvery is how often a stream looks for news.
	lookEvery = time.Second
	// beatEvery is how often a stream says that it lives.
	beatEvery = 15 * time.Second
)

// events is the stream that tells an open page to fetch its live parts anew. It
// says that there is news, not what: the page reads that for itself.
func (s *Server) events(c *call) error {
	ctx, stream := c.r.Context(), http.NewResponseController(c)
	header := c.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	newest, err := s.newest(c)
	if err != nil {
		return err
	}
	c.WriteHeader(http.StatusOK)
	tell := func(text string) bool {
		_ = stream.SetWriteDeadline(time.Now().Add(beatEvery)) // a connection without deadlines needs none
		_, err := c.Write([]byte(text))
		return err == nil && stream.Flush() == nil
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	beat := time.Now()
	for alive := tell("retry: 2000\n\n"); alive; {
		select {
		case <-ctx.Done():
			return nil
		case <-s.Stopping:
			return nil
		case <-ticker.C:
		}
		now, err := s.newest(c)
		switch {
		case err != nil: // told by the page itself, when it looks
		case now != newest:
			newest, beat = now, time.Now()
			alive = tell("event: job\ndata: {}\n\n")
			continue
		}
		if time.Since(beat) >= beatEvery {
			beat = time.Now()
			alive = tell(": here\n\n")
		}
	}
	return nil
}

// newest is what changes whenever something happens to an account's jobs.
type newest struct {
	job    int64
	log    uuid.UUID
	counts string
}

func (s *Server) newest(c *call) (newest, error) {
	var n newest
	jobs, err := s.Store.JobList(c.r.Context(), c.owner(), store.JobQuery{ListQuery: store.ListQuery{Limit: 1}})
	if err != nil {
		return n, err
	}
	logs, err := s.Store.LogList(c.r.Context(), c.owner(), store.LogQuery{ListQuery: store.ListQuery{Limit: 1}})
	if err != nil {
		return n, err
	}
	counts, err := s.Manager.Counts(c.r.Context(), c.owner())
	if err != nil {
		return n, err
	}
	if len(jobs) > 0 {
		n.job = jobs[0].Number
	}
	if len(logs) > 0 {
		n.log = logs[0].ID
	}
	n.counts = fmt.Sprint(counts)
	return n, nil
}
