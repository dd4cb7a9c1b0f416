package listen

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// wanted says which listeners may answer a request.
type wanted struct {
	account int64
	name    string
	tags    []string
}

func (w *wanted) matches(l *store.Listener) bool {
	return l.Account == w.account && (l.Name != "" && l.Name == w.name || l.Tag != "" && slices.Contains(w.tags, l.Tag))
}

// Answer has a listener answer a request of an account: one for the name in its URL,
// or one for a tag of its job. It waits while all of them are busy, and returns why
// there is no response. If the request's context ends first, the failure says
// nothing of use. leave is called right before the request is handed over, which
// does not happen if it returns false.
func (h *Hub) Answer(account int64, tags []string, r *http.Request, body []byte, leave func() bool) (*http.Response, *job.Failure) {
	if account == h.Public {
		return nil, &job.Failure{Kind: job.KindBlocked, Message: "the public account can't have listeners; use a key of your own account"}
	}
	ctx := r.Context()
	w := &wanted{account: account, tags: tags}
	m := message(r, body)
	if job.ToListener(r.URL) {
		w.name, _ = job.ListenerOf(r.URL)
	}
	for ctx.Err() == nil {
		send, wait, failure := h.choose(ctx, w)
		if failure != nil {
			return nil, failure
		}
		if send == nil {
			h.wait(ctx, wait)
			continue
		}
		if !leave() {
			send(ctx, nil)
			break
		}
		if answer, failure := send(ctx, m); answer != nil {
			return response(r, answer), nil
		} else if failure != nil {
			return nil, failure
		}
		// The listener has left before it got the request.
	}
	return nil, interrupted("the attempt ended before a listener responded")
}

func interrupted(why string) *job.Failure {
	return &job.Failure{Kind: job.KindInterrupted, Message: why + "; the attempt will be retried", Unsent: true, Wait: time.Second}
}

// sender hands a request to a listener that has a slot for it, and returns the
// answer, or the failure; neither if the listener did not get it. A nil message
// only returns the slot.
type sender func(ctx context.Context, m *Message) (*Message, *job.Failure)

// choose returns what sends to the listener that is to answer a request: of those
// with a free slot, the one that connected last. If all are busy, it returns a
// channel for Hub.wait, which the caller must call.
func (h *Hub) choose(ctx context.Context, w *wanted) (sender, <-chan struct{}, *job.Failure) {
	var fresh []store.Listener
	for range 2 {
		send, wait, found := h.chooseOf(w, fresh)
		if found {
			return send, wait, nil
		}
		if h.Relay == nil || w.name == "" {
			break
		}
		// A listener that has connected to another node just now is not known yet.
		var err error
		if fresh, err = h.Relay.ListenersNamed(ctx, w.account, w.name); err != nil {
			return nil, nil, interrupted("the connected listeners could not be read")
		}
	}
	return nil, nil, noListener(w)
}

func noListener(w *wanted) *job.Failure {
	if w.name == "" {
		return &job.Failure{Kind: job.KindConnect,
			Message: "the listener for a tag of this job has disconnected; the next attempt goes to the job's url"}
	}
	return &job.Failure{Kind: job.KindConnect, Message: "no listener named " + w.name +
		" is connected; start one with punctual listen --name " + w.name}
}

// chooseOf chooses among the listeners of this node, those known of others, and
// those in fresh. It reports whether there is one at all.
func (h *Hub) chooseOf(w *wanted, fresh []store.Listener) (send sender, wait <-chan struct{}, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var local *session
	for s := range h.accounts[w.account] {
		if !w.matches(&s.Listener) || s.ctx.Err() != nil {
			continue
		}
		found = true
		if s.busy < maxInFlight && (local == nil || s.Since.After(local.Since)) {
			local = s
		}
	}
	remote, known := h.relay.choose(w, fresh)
	switch {
	case remote != nil && (local == nil || remote.Since.After(local.Since)):
		return h.relay.sender(h, remote), nil, true
	case local != nil:
		local.busy++
		return local.sender(func() {}), nil, true
	}
	if !found && !known {
		return nil, nil, false
	}
	h.waiting++
	return nil, h.changed, true
}

// message returns the message with a request.
func message(r *http.Request, body []byte) *Message {
	m := &Message{Type: Request, Method: r.Method, Header: Fields(r.Header), Body: body, Path: r.URL.EscapedPath(),
		Base: r.URL.Scheme + "://" + r.URL.Host}
	if name, path := job.ListenerOf(r.URL); name != "" && job.ToListener(r.URL) {
		m.Base, m.Path = m.Base+"/"+name, path
	}
	if !strings.HasPrefix(m.Path, "/") {
		m.Path = "/" + m.Path
	}
	if r.URL.RawQuery != "" {
		m.Path += "?" + r.URL.RawQuery
	}
	if end, ok := r.Context().Deadline(); ok {
		m.TimeoutMS = max(1, time.Until(end).Milliseconds())
	}
	return m
}

// response returns a listener's answer as the response of a target.
func response(r *http.Request, m *Message) *http.Response {
	header := http.Header{}
	for _, f := range m.Header {
		header.Add(f[0], f[1])
	}
	return &http.Response{
		StatusCode: m.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: r,
		Body: io.NopCloser(bytes.NewReader(m.Body)), ContentLength: int64(len(m.Body)),
	}
}
