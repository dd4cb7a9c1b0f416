package receiver

import (
	"errors"
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
