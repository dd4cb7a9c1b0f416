package edge

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/punctual-dev/punctual/internal/fault"
)

const (
	// decoderBytes is what a decoder counts for: its window and its tables.
	decoderBytes = 48 << 10
	// codingBytes is how much longer a body may be than its limit before it is decoded:
	// what can't be compressed becomes a little longer.
	codingBytes = 64 << 10
)

// Decoded returns a reader of the request's body that undoes its Content-Encoding, and
// the length of what it reads, -1 if that is not known. The reader returns a
// *http.MaxBytesError after most bytes; other errors of the coding are faults. What it
// decodes counts in the budget of bytes in flight until the request ends. The caller
// must close the reader.
func Decoded(w http.ResponseWriter, r *http.Request, most int64) (body io.ReadCloser, length int64, err error) {
	coded, err := isGzip(r.Header.Values("Content-Encoding"))
	switch {
	case err != nil:
		w.Header().Set("Accept-Encoding", "gzip")
		return nil, 0, err
	case !coded:
		if r.ContentLength > most {
			return nil, 0, &http.MaxBytesError{Limit: most}
		}
		// The server closes the body, after the response.
		return io.NopCloser(http.MaxBytesReader(w, r.Body, most)), r.ContentLength, nil
	case r.ContentLength > most+codingBytes:
		return nil, 0, &http.MaxBytesError{Limit: most}
	}
	d := &decoder{coded: http.MaxBytesReader(w, r.Body, most+codingBytes)}
	if c := connOf(r.Context()); c != nil {
		d.body = c.body
	}
	if d.body != nil {
		if err := d.body.charge.add(decoderBytes); err != nil {
			return nil, 0, d.body.fail(err)
		}
	}
	return http.MaxBytesReader(w, d, most), -1, nil
}

// isGzip reports whether a body must be decoded. It returns an UnsupportedMedia fault
// for a coding other than gzip, and for several.
func isGzip(values []string) (coded bool, err error) {
	for name := range strings.SplitSeq(strings.Join(values, ","), ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "", "identity":
		case "gzip", "x-gzip":
			if coded {
				err = errCoding
			}
			coded = true
		default:
			err = errCoding
		}
	}
	return coded, err
}

var errCoding = fault.New(fault.UnsupportedMedia, "the only Content-Encoding is gzip, once; send the body so, or as it is")

// decoders has *gzip.Reader that are not in use.
var decoders sync.Pool

// decoder reads what gzip compressed.
type decoder struct {
	coded io.Reader
	body  *body // counts the bytes; nil outside of a Server
	gzip  *gzip.Reader
	bytes int64
	err   error // what every further Read returns
}

// Read implements io.Reader.
func (d *decoder) Read(p []byte) (n int, err error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.gzip == nil {
		if d.err = d.open(); d.err != nil {
			return 0, d.err
		}
	}
	n, err = d.gzip.Read(p[:min(len(p), bodyStep)])
	over := d.bytes + int64(n) - max(d.bytes, freeBytes)
	d.bytes += int64(n)
	if over > 0 && d.body != nil {
		if full := d.body.charge.add(over); full != nil {
			d.err = d.body.fail(full)
			return n, d.err
		}
	}
	d.err = d.explain(err)
	return n, d.err
}

// open reads the header of the compressed data; a body without any is empty.
func (d *decoder) open() (err error) {
	if used, ok := decoders.Get().(*gzip.Reader); ok {
		d.gzip, err = used, used.Reset(d.coded)
	} else {
		d.gzip, err = gzip.NewReader(d.coded)
	}
	if err != nil {
		d.gzip = nil
	}
	return d.explain(err)
}

// explain turns errors of the compressed data into faults.
func (d *decoder) explain(err error) error {
	var corrupt flate.CorruptInputError
	arrived := d.body == nil || d.body.whole
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) || err == io.ErrUnexpectedEOF &&
		arrived {
		return fault.New(fault.Unreadable, "the body is not what gzip compresses to, as its Content-Encoding says; send it again, or without that header")
	}
	return err
}

// Close implements io.Closer.
func (d *decoder) Close() error {
	if d.gzip != nil {
		decoders.Put(d.gzip)
		d.gzip, d.err = nil, http.ErrBodyReadAfterClose
	}
	return nil
}
