package execute

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"slices"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// maxResponse is how much of a body is read before its connection is
	// closed.
	maxResponse = 16 << 20
	// firstRead limits the buffer that is allocated for a declared length
	// before any of the body has arrived.
	firstRead = 8 << 10
	// readTurn is how much of a body is read before other goroutines may run. Targets
	// that send faster than the service reads would keep each processor for
	// milliseconds, while jobs of others are due.
	readTurn = 64 << 10
)

// readResponse reads a response to its end and closes its body. It keeps the
// first job.MaxResponseBody bytes and reads the rest, too, because only a
// complete response counts and its connection can be reused.
func readResponse(ctx context.Context, resp *http.Response) (*job.Response, error) {
	defer resp.Body.Close()
	body, err := readKept(resp.Body, resp.ContentLength)
	var rest int64
	if err == nil && len(body) == job.MaxResponseBody {
		// One byte more than allowed shows whether the body goes on.
		rest, err = discard(resp.Body, maxResponse-job.MaxResponseBody+1)
	}
	if err == nil {
		// net/http closes the connection when the context ends. An end of file
		// or a response because of that is not the target's response.
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &job.Response{Status: resp.StatusCode, Header: resp.Header, Body: body, Truncated: rest > 0}, nil
}

// readKept reads the part of a body that is kept: up to its end or
// job.MaxResponseBody bytes. length is the declared length, or -1.
func readKept(body io.Reader, length int64) ([]byte, error) {
	room := 512
	if length >= 0 {
		room = int(min(length, firstRead)) + 1 // one more byte, to read the end of file
	}
	buf := make([]byte, 0, room)
	for len(buf) < job.MaxResponseBody {
		if len(buf) == cap(buf) {
			if len(buf) >= readTurn {
				runtime.Gosched()
			}
			buf = slices.Grow(buf, len(buf))
		}
		n, err := body.Read(buf[len(buf):min(cap(buf), job.MaxResponseBody)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// discard reads up to limit bytes of a body and returns how many there were.
func discard(body io.Reader, limit int64) (n int64, err error) {
	for n < limit && err == nil {
		var read int64
		read, err = io.CopyN(io.Discard, body, min(readTurn, limit-n))
		n += read
		runtime.Gosched()
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}
