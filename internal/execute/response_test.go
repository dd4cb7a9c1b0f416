package execute

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
)

// endless is a body that is always ready to be read, and counts what was.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	e.read.Add(int64(len(b)))
	return len(b), nil
}

func (e *endless) Close() error { return nil }

// A target that sends faster than the service reads must not keep the processor
// from work of others.
func TestReadResponse_LetsOthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	body := &endless{}
	ran := make(chan int64, 1)
	go func() { ran <- body.read.Load() }()
	resp := &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: io.ReadCloser(body)}
	if _, err := readResponse(context.Background(), resp); err != nil {
		t.Fatal(err)
	}
	if n := <-ran; n > 2*readTurn {
		t.Errorf("another goroutine ran after %d bytes of the body had been read; expected at most %d", n, 2*readTurn)
	}
}
