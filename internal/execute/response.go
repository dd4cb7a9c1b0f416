package execute

import (
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// maxAnswer is how much of a body is read before its connection is given up.
	maxAnswer = 16 << 20
	// firstRead is how much room a body gets before any of it has come: what a
	// target declares is not believed until it is sent.
	firstRead = 8 << 10
)

// readAnswer reads an answer to its end and closes its body. It keeps the
// first job.MaxResponseBody bytes; the rest is read all the same, since only a
// whole answer counts and its connection is used again.
func readAnswer(ctx context.Context, resp *http.Response) (*job.Response, error) {
	defer resp.Body.Close()
	body, err := readKept(resp.Body, resp.ContentLength)
	var rest int64
	if err == nil && len(body) == job.MaxResponseBody {
		// One byte more than is allowed tells a body that goes on from one that ends.
		rest, err = io.CopyN(io.Discard, resp.Body, maxAnswer-job.MaxResponseBody+1)
		if err == io.EOF {
			err = nil
		}
	}
	if err == nil {
		// net/http hangs up when the context ends. What comes after that, be it
		// the end of the connection or an answer given because of it, is not the
		// answer that was waited for.
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &job.Response{Status: resp.StatusCode, Header: resp.Header, Body: body, Truncated: rest > 0}, nil
}

// readKept reads the part of a body that is kept: until its end, or until
// there are job.MaxResponseBody bytes. length is the declared one, -1 if none.
func readKept(body io.Reader, length int64) ([]byte, error) {
	room := 512
	if length >= 0 {
		room = int(min(length, firstRead)) + 1 // the byte over is where the end shows
	}
	buf := make([]byte, 0, room)
	for len(buf) < job.MaxResponseBody {
		if len(buf) == cap(buf) {
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
