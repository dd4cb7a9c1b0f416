package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds a message on standard input, in bytes.
const maxLine = 2 << 20

// maxRefusals bounds the refusals of lines that wait to be written. While there are as
// many, no further line is read.
const maxRefusals = 1024

var errLine = errors.New("a message on standard input is larger than 2 MiB")

// stdio is a connection over standard input and output, one message a line. It answers
// lines that are no messages itself, and ends only after what was asked is answered.
// Reading waits for a write only while maxRefusals wait to be written: a client may send
// much before it reads anything.
type stdio struct {
	out      io.WriteCloser
	in       io.Closer
	lines    chan line
	refusals chan []byte // to be written
	ended    bool        // the input; only Read uses it

	writing sync.Mutex // during a write; never taken with mu

	mu        sync.Mutex
	pending   map[jsonrpc.ID]bool // requests of the client without a response
	asked     map[jsonrpc.ID]bool // requests to the client without a response
	unwritten int                 // responses and refusals
	failed    error               // of writing a refusal
	changed   chan struct{}       // has a value after a change of the above
	closed    chan struct{}
	once      sync.Once
}

type line struct {
	text []byte
	err  error
}

func newStdio(in io.ReadCloser, out io.WriteCloser) *stdio {
	c := &stdio{
		out: out, in: in, lines: make(chan line), pending: map[jsonrpc.ID]bool{}, asked: map[jsonrpc.ID]bool{},
		refusals: make(chan []byte, maxRefusals), changed: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	go c.readLines(bufio.NewReaderSize(in, 64<<10))
	go c.writeRefusals()
	return c
}

// Connect implements sdk.Transport.
func (c *stdio) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements sdk.Connection: there is one session.
func (c *stdio) SessionID() string { return "" }

// readLines reads until an error. It ends with the process where reading can't be
// interrupted.
func (c *stdio) readLines(r *bufio.Reader) {
	for {
		text, err := readLine(r)
		if len(text) > 0 {
			c.send(line{text: text})
		}
		if err != nil {
			c.send(line{err: err})
			return
		}
	}
}

func (c *stdio) send(l line) {
	select {
	case c.lines <- l:
	case <-c.closed:
	}
}

// readLine reads a line without the space around it, also the last one if it does not
// end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(text)+len(part) > maxLine {
			return nil, errLine
		}
		text = append(text, part...)
		if err != bufio.ErrBufferFull {
			return bytes.TrimSpace(text), err
		}
	}
}

// Read implements sdk.Connection.
func (c *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	for !c.ended {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l := <-c.lines:
			if l.err == io.EOF {
				c.ended = true
				break
			}
			if l.err != nil {
				return nil, l.err
			}
			if m, err := c.message(l.text); m != nil || err != nil {
				return m, err
			}
		}
	}
	return c.rest(ctx)
}

// message reads a line. It returns nil for one that is no message, which it answers.
func (c *stdio) message(text []byte) (jsonrpc.Message, error) {
	if !json.Valid(text) {
		return nil, c.refuse(codeParse, "Parse error: a line must be one message in JSON")
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, c.refuse(codeRequest, "Invalid request: a line must be one JSON-RPC 2.0 message; batches are not supported")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Response:
		delete(c.asked, m.ID)
	case *jsonrpc.Request:
		if m.IsCall() {
			c.pending[m.ID] = true
		} else if m.Method == "notifications/cancelled" {
			c.cancelled(m)
		}
	}
	return m, nil
}

// cancelled notes that a request needs no response.
func (c *stdio) cancelled(m *jsonrpc.Request) {
	var of struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &of) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(of.RequestID); err == nil {
		delete(c.pending, id)
	}
}

// refuse queues the answer to a line that is no message: its id is not known. It returns
// the error of writing an earlier one.
func (c *stdio) refuse(code int, message string) error {
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message},
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.unwritten++
	err = c.failed
	c.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case c.refusals <- text:
	case <-c.closed:
	}
	return nil
}

// writeRefusals writes what refuse queues, until the connection is closed. Like readLines
// it may end with the process.
func (c *stdio) writeRefusals() {
	for {
		select {
		case text := <-c.refusals:
			err := c.writeLine(text)
			c.mu.Lock()
			c.unwritten--
			if err != nil {
				c.failed = err
			}
			c.mu.Unlock()
			c.change()
		case <-c.closed:
			return
		}
	}
}

func (c *stdio) writeLine(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

// change tells rest that something has changed.
func (c *stdio) change() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// rest waits, after the end of the input, until every line is answered. What the
// client is asked now, it can't answer any more.
func (c *stdio) rest(ctx context.Context) (jsonrpc.Message, error) {
	for {
		c.mu.Lock()
		for id := range c.asked {
			delete(c.asked, id)
			c.mu.Unlock()
			return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the input has ended"}}, nil
		}
		open := len(c.pending) + c.unwritten
		c.mu.Unlock()
		if open == 0 {
			return nil, io.EOF
		}
		select {
		case <-c.changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		}
	}
}

// Write implements sdk.Connection.
func (c *stdio) Write(ctx context.Context, m jsonrpc.Message) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	c.writes(m)
	err = c.writeLine(text)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		c.unwritten--
		c.mu.Unlock()
	}
	c.change()
	return err
}

// writes notes a message before it is written: once it is, the client may use the id of a
// response again, or respond to a request.
func (c *stdio) writes(m jsonrpc.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Response:
		delete(c.pending, m.ID)
		c.unwritten++
	case *jsonrpc.Request:
		if m.IsCall() {
			c.asked[m.ID] = true
		}
	}
}

// Close implements sdk.Connection.
func (c *stdio) Close() error {
	var err error
	c.once.Do(func() {
		close(c.closed)
		err = errors.Join(c.in.Close(), c.out.Close())
	})
	return err
}
