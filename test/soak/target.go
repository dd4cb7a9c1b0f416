package soak

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// publicURL is the address that the service gives targets to report at.
const publicURL = "https://punctual.example.com"

// ServeHTTP is the target of all jobs and the receiver of alerts.
func (s *soak) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, rest, _ := strings.Cut(req.URL.Path[1:], "/")
	switch {
	case strings.HasPrefix(req.URL.Path, "/job/"):
		s.serveJob(w, req, rest)
	case strings.HasPrefix(req.URL.Path, "/run/"):
		s.serveRun(w, req, rest)
	case strings.HasPrefix(req.URL.Path, "/alert/"):
		s.serveAlert(req)
	}
}

// request reads what a request says of itself.
func request(req *http.Request) *hit {
	h := &hit{at: time.Now()}
	var body struct{ V int64 }
	_ = json.NewDecoder(req.Body).Decode(&body) // a body that is not JSON has version 0
	h.version = body.V
	h.scheduled, _ = time.Parse(time.RFC3339Nano, req.Header.Get("X-Punctual-Scheduled-At"))
	return h
}

func (s *soak) serveJob(w http.ResponseWriter, req *http.Request, key string) {
	h := request(req)
	e := s.arrive(key, h)
	status, longest := http.StatusOK, 40*time.Millisecond
	if e != nil {
		switch first := req.Header.Get("X-Punctual-Attempt") == "1"; {
		case e.kind == doomed, e.kind == retried && first:
			status = http.StatusInternalServerError
		case e.kind == reported:
			status = http.StatusAccepted
			s.work.Go(func() { s.report(e, req.Header.Get("X-Punctual-Complete")) })
		case e.kind == slotted:
			longest = 400 * time.Millisecond
		}
	}
	select {
	case <-time.After(rand.N(longest)):
	case <-req.Context().Done():
	}
	s.leave(e, h, req.Context().Err() == nil) // before the service can know that it has ended
	w.WriteHeader(status)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// report reports the result of a job, as its target.
func (s *soak) report(e *entry, url string) {
	pause(rand.N(time.Second))
	path, found := strings.CutPrefix(url, publicURL)
	if !found {
		s.complain("a request of job %s says nothing of its completion: %q", e.key, url)
		return
	}
	a := s.ask(s.clients[e.account], time.Now().Add(within), http.MethodPost, path, `{"result":{"ok":true}}`)
	switch {
	case a == nil:
		s.complain("the result of job %s could not be reported", e.key)
	case a.Status < 300:
		s.do(func() { e.took = true })
	case a.Status != http.StatusGone && a.Status != http.StatusConflict:
		s.complain("the result of job %s is refused: %s", e.key, a)
	}
}

// serveRun checks a run of a schedule: on its grid, after the one before, with the
// body that was acknowledged.
func (s *soak) serveRun(w http.ResponseWriter, req *http.Request, name string) {
	h := request(req)
	job := req.Header.Get("X-Punctual-Job-Id")
	s.do(func() {
		r := s.schedules[name]
		s.counts["runs"]++
		calm := !s.disturbed(h.at.Add(-before-r.every), h.at)
		switch {
		case h.at.Before(h.scheduled):
			s.broken("a run of %s came %s early", name, h.scheduled.Sub(h.at))
		case job == r.job:
			if calm {
				s.broken("a run of %s came twice", name)
			}
		case !h.scheduled.After(r.due):
			s.broken("a run of %s is due %s, after one that was due %s", name, h.scheduled, r.due)
		case calm && !r.due.IsZero() && h.scheduled.After(latest(r.due, r.at).Add(r.every)):
			s.broken("the run of %s after %s is due %s later", name, r.due, h.scheduled.Sub(r.due))
		case calm:
			s.late = append(s.late, h.at.Sub(h.scheduled))
		}
		if h.version < r.version && h.scheduled.After(r.changed.Add(time.Second)) {
			s.broken("a run of %s has body %d, its client was told %d", name, h.version, r.version)
		}
		r.job, r.due, r.at = job, h.scheduled, h.at
	})
	harness.Delay(rand.N(20*time.Millisecond), harness.Status(http.StatusOK)).ServeHTTP(w, req)
}

// serveAlert notes what an alert has reported.
func (s *soak) serveAlert(req *http.Request) {
	var message struct {
		Type string
		Data struct{ Job int64 }
	}
	err := json.NewDecoder(req.Body).Decode(&message)
	s.do(func() {
		s.counts["alert messages"]++
		if err != nil {
			s.broken("a message of an alert can't be read: %v", err)
			return
		}
		s.alerted[message.Data.Job] = message.Type
	})
}
