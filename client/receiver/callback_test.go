package receiver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReadCallback_IsTyped(t *testing.T) {
	read := func(body string) (*Callback, error) {
		return ReadCallback(httptest.NewRequest("POST", "/", strings.NewReader(body)))
	}
	c, err := read(`{"job":{"id":"a","job_id":7,"job":{"id":7,"state":"discarded"}},"attempt":4,"request":{},"response":null,"error":{"kind":"status","message":"500"}}`)
	if err != nil || c.Job.JobID != 7 || c.Job.Job.State != "discarded" || c.Attempt != 4 || c.Error == nil || c.Error.Kind != "status" {
		t.Errorf("read %+v, %v", c, err)
	}
	for _, other := range []string{`{"type":"job.started","timestamp":"2026-01-01T00:00:00Z","data":{"job":{"id":"a"},"attempt":1}}`, `{}`,
		`{"job":{"id":"a"}}`} {
		if _, err := read(other); !errors.Is(err, ErrNoCallback) {
			t.Errorf("%s: %v", other, err)
		}
	}
	if _, err := read(`{`); err == nil || errors.Is(err, ErrNoCallback) {
		t.Errorf("half of one: %v", err)
	}
}

func TestNewCallback_HandlesEachOnce(t *testing.T) {
	var states []string
	var failed []error
	broken := errors.New("the ledger is away")
	h, err := NewCallback(func(_ context.Context, c *Callback) error {
		states = append(states, c.Job.Job.State)
		if len(states) == 1 {
			return broken
		}
		return nil
	}, Options{Verifier: verifier(t), Failed: func(_ *http.Request, err error) { failed = append(failed, err) }})
	if err != nil {
		t.Fatal(err)
	}
	const callback = `{"job":{"id":"a","job_id":7,"job":{"id":7,"state":"completed"}},"attempt":1,"request":{},"response":{},"error":null}`
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusNoContent, http.StatusNoContent} {
		if w := serve(h, message(t, "msg_a", callback)); w.Code != want {
			t.Errorf("responded %d, want %d", w.Code, want)
		}
	}
	if len(states) != 2 || states[1] != "completed" || len(failed) != 1 || !errors.Is(failed[0], broken) {
		t.Errorf("handled %v, failed %v", states, failed)
	}
	if w := serve(h, message(t, "job_b", `{"to":"alex"}`)); w.Code != http.StatusUnprocessableEntity || len(states) != 2 {
		t.Errorf("the request of a job: responded %d, handled %v", w.Code, states)
	}
}
