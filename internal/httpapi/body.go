package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"runtime"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// maxBody is the largest body accepted by most calls, in bytes.
	maxBody = job.MaxRequest
	// maxBatchBody is the largest body of a batch, and of a document of schedules: an
	// export can be applied.
	maxBatchBody = 8 << 20
)

// trustedLength is how much memory a declared length allocates before the body
// arrives.
const trustedLength = 4 << 10

// largeBody is how large a body is that may take long to parse: tens of
// milliseconds for a megabyte of small members. Half of the processors parse such
// ones at a time. The others are for everybody else, who would otherwise wait for
// the time slices of all that are being parsed.
const largeBody = 64 << 10

func newParsing() chan struct{} { return make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)) }

// readBody reads a body as JSON; a form becomes the JSON it stands for.
func (c *call) readBody() (rawjson.Value, error) { return c.readBodyUpTo(maxBody) }

// readDocument is readBody for a document of schedules.
func (c *call) readDocument() (rawjson.Value, error) { return c.readBodyUpTo(maxBatchBody) }

func (c *call) readBodyUpTo(most int64) (rawjson.Value, error) {
	isForm, err := c.bodyType()
	if err != nil {
		return nil, err
	}
	text, err := c.readAll(most)
	if err != nil {
		return nil, err
	}
	leave, err := c.enterParsing(len(text))
	if err != nil {
		return nil, err
	}
	defer leave()
	if isForm && isJSONText(text) {
		return nil, fault.Refuse([]fault.Problem{{Pointer: "#",
			Detail: "looks like JSON sent as a form; send it with Content-Type: application/json"}})
	}
	if isForm {
		value, err := job.ReadForm(string(text))
		return value, unreadable("the form can't be read", err)
	}
	value, err := rawjson.Read(text)
	return value, unreadable("the body is not readable JSON", err)
}

// isJSONText reports whether a form is JSON, which clients such as curl send as a form
// unless they are told its type.
func isJSONText(form []byte) bool {
	text := bytes.TrimSpace(form)
	start := strings.ToUpper(string(text[:min(3, len(text))]))
	return strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") || start == "%7B" || start == "%5B"
}

// enterParsing waits until a body of some bytes may be parsed. The caller must call
// leave afterwards.
func (c *call) enterParsing(bytes int) (leave func(), err error) {
	if bytes <= largeBody {
		return func() {}, nil
	}
	select {
	case c.parsing <- struct{}{}:
		return func() { <-c.parsing }, nil
	case <-c.r.Context().Done():
		return nil, fault.Unreachable(c.r.Context().Err())
	}
}

// unreadable converts an error of reading a body to a fault: Invalid if the body
// nests too deep, otherwise Unreadable.
func unreadable(what string, err error) error {
	if err == nil {
		return nil
	}
	var deep *rawjson.DepthError
	if errors.As(err, &deep) {
		pointer := "#"
		if deep.Named {
			pointer = job.Pointer(deep.Field)
		}
		detail := fmt.Sprintf("nests too deep; JSON may nest at most %d levels deep, including the body's own braces", rawjson.MaxDepth)
		return fault.Refuse([]fault.Problem{{Pointer: pointer, Detail: detail}})
	}
	if fault.CodeOf(err) == fault.Invalid {
		return err
	}
	return fault.New(fault.Unreadable, what+": "+err.Error())
}

func (c *call) bodyType() (isForm bool, err error) {
	mediaType := c.mediaType()
	switch {
	case mediaType == "":
		return false, nil
	case mediaType == "application/x-www-form-urlencoded":
		return true, nil
	case job.IsJSON(mediaType):
		return false, nil
	}
	return false, fault.New(fault.UnsupportedMedia,
		"send the body as application/json or application/x-www-form-urlencoded, with that Content-Type")
}

// mediaType returns the media type of the body: "" if none is given.
func (c *call) mediaType() string {
	given := c.r.Header.Get("Content-Type")
	if given == "" {
		return ""
	}
	mediaType, _, err := mime.ParseMediaType(given)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return given // of none of the types that are read
	}
	return mediaType
}

// readAll reads a body of up to most bytes after decoding, a whole number of MiB.
func (c *call) readAll(most int64) ([]byte, error) {
	text, err := c.readDecoded(most)
	var over *http.MaxBytesError
	var f *fault.Error
	switch {
	case err == nil:
		return text, nil
	case errors.As(err, &over):
		if c.r.ProtoMajor < 2 { // other calls share a connection of HTTP/2
			c.Header().Set("Connection", "close")
		}
		return nil, fault.New(fault.TooLarge, "the body must be at most "+strconv.FormatInt(most>>20, 10)+" MiB, after decoding")
	case errors.As(err, &f):
		return nil, f
	}
	return nil, fault.New(fault.Unreadable, "the body could not be read completely; send it again")
}

func (c *call) readDecoded(most int64) ([]byte, error) {
	body, length, err := edge.Decoded(c.ResponseWriter, c.r, most)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	// The buffer grows as the body arrives, since a client can declare any length.
	var b bytes.Buffer
	b.Grow(bytes.MinRead + int(min(max(length, 0), trustedLength)))
	_, err = b.ReadFrom(body)
	return b.Bytes(), err
}
