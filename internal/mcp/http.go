package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/httpapi"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Path is where the service serves the protocol.
const Path = "/mcp"

const (
	maxBody  = 1 << 20
	maxBatch = 16 // messages in one request, which versions until 2025-03-26 permit
)

// Handler serves the protocol over HTTP: streamable HTTP, without sessions. Each request
// stands for itself, so any node can serve it, and nothing is kept between two.
type Handler struct {
	*Server
	api    http.Handler
	public *url.URL
	stream http.Handler
	origin http.CrossOriginProtection
}

// NewHandler returns a Handler whose tools call api. public is where clients reach the
// service; nil if it isn't known.
func NewHandler(s *Server, api http.Handler, public *url.URL) *Handler {
	return &Handler{
		Server: s, api: api, public: public,
		stream: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk() }, &sdk.StreamableHTTPOptions{
			// edge and sameMachine check the host.
			Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: maxBody,
		}),
	}
}

// Find implements httpapi.Foreign.
func (h *Handler) Find(*http.Request) httpapi.ForeignRoute {
	return httpapi.ForeignRoute{Name: Path, Reads: true, Serve: h.serve}
}

// Fail implements httpapi.Foreign: a JSON-RPC error, with the HTTP status that says it all.
func (h *Handler) Fail(w http.ResponseWriter, _ *http.Request, status int, f *fault.Error) {
	writeError(w, status, codeOf(f), f.Message)
}

// Codes of JSON-RPC 2.0.
const (
	codeParse   = -32700
	codeRequest = -32600
	codeMethod  = -32601
	codeServer  = -32000 // the first that servers define
)

func codeOf(f *fault.Error) int {
	switch f.Code {
	case fault.Unreadable:
		return codeParse
	case fault.Invalid, fault.TooLarge, fault.UnsupportedMedia, fault.MethodNotAllowed:
		return codeRequest
	}
	return codeServer
}

func writeError(w http.ResponseWriter, status, code int, message string) {
	writeErrorOf(w, status, rawjson.Value("null"), code, message)
}

// writeErrorOf responds with the error of the message with an id.
func writeErrorOf(w http.ResponseWriter, status int, id rawjson.Value, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = strconv.AppendInt(append(b, `,"error":{"code":`...), int64(code), 10)
	b = rawjson.AppendText(append(b, `,"message":`...), message)
	_, _ = w.Write(append(b, `}}`...)) // fails only if the client is gone
}

func (h *Handler) serve(f *httpapi.ForeignCall) error {
	body, err := h.read(f)
	if err != nil {
		return err
	}
	r := f.Request
	ctx := withConnection(r.Context(), &session{
		Server: h.Server, api: &inside{h.api, r}, account: f.Owner.Number, secret: r.Header.Get("Authorization"),
	})
	r = r.WithContext(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	w := &plainErrors{ResponseWriter: f}
	h.stream.ServeHTTP(w, r)
	w.finish(body)
	return nil
}

// read checks a request and returns its body.
func (h *Handler) read(f *httpapi.ForeignCall) ([]byte, error) {
	r := f.Request
	if r.Method != http.MethodPost {
		f.Header().Set("Allow", http.MethodPost)
		return nil, fault.New(fault.MethodNotAllowed, "send messages with POST; this server has no sessions, and sends nothing by itself")
	}
	if h.origin.Check(r) != nil {
		return nil, fault.New(fault.Forbidden, "pages of other sites can't use this service; connect without the header Origin")
	}
	if h.public == nil && !sameMachine(r) {
		return nil, fault.New(fault.Forbidden, "the header Host must name this machine; the operator sets --public-url if the service has another name")
	}
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		return nil, fault.New(fault.UnsupportedMedia, "send messages with Content-Type: application/json")
	}
	text, err := f.ReadAll(maxBody)
	if err != nil {
		return nil, err
	}
	leave, err := f.EnterParsing(len(text))
	if err != nil {
		return nil, err
	}
	defer leave()
	body, err := rawjson.Read(text)
	if err != nil {
		return nil, fault.New(fault.Unreadable, "the message is not readable JSON: "+err.Error())
	}
	if n := len(rawjson.Elements(body)); n > maxBatch {
		return nil, fault.New(fault.Invalid, "a request has at most "+strconv.Itoa(maxBatch)+" messages, not "+strconv.Itoa(n))
	}
	return body, nil
}

// sameMachine reports whether a request that came to a loopback address names one as its
// host: otherwise a page whose name points to this machine has sent it (DNS rebinding).
func sameMachine(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil || !isLoopback(local.String()) {
		return true
	}
	return isLoopback(r.Host)
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// plainErrors writes the plain texts with which the SDK refuses requests as errors of
// JSON-RPC.
type plainErrors struct {
	http.ResponseWriter
	status int // of a plain text; 0 for none
	text   []byte
}

// maxText bounds what is kept of a plain text.
const maxText = 1 << 10

// WriteHeader implements http.ResponseWriter.
func (w *plainErrors) WriteHeader(status int) {
	if mediaType, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type")); status >= http.StatusBadRequest &&
		mediaType == "text/plain" {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *plainErrors) Write(b []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(b)
	}
	w.text = append(w.text, b[:min(len(b), maxText-len(w.text))]...)
	return len(b), nil
}

// Flush implements http.Flusher.
func (w *plainErrors) Flush() {
	if w.status == 0 {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

// unknownMethod begins the text with which the SDK refuses a method that it doesn't know.
const unknownMethod = "JSON RPC not handled"

// finish ends the response to a message.
func (w *plainErrors) finish(message rawjson.Value) {
	if w.status == 0 {
		return
	}
	text, id := string(bytes.TrimSpace(w.text)), rawjson.Get(message, "id")
	if strings.HasPrefix(text, unknownMethod) && !rawjson.IsNull(id) {
		// The error of one message, not of the HTTP request (JSON-RPC 2.0, section 5.1).
		writeErrorOf(w.ResponseWriter, http.StatusOK, id, codeMethod, "there is no method "+rawjson.Text(rawjson.Get(message, "method")))
		return
	}
	writeError(w.ResponseWriter, w.status, codeRequest, text)
}

// inside is the API in this process, with the credentials and the address of a request.
type inside struct {
	api   http.Handler
	outer *http.Request
}

// forwarded are the headers of the outer request that a call has too.
var forwarded = []string{"Authorization", "User-Agent", "X-Forwarded-For", "X-Forwarded-Proto", "X-Request-Id"}

// Do implements API.
func (i *inside) Do(request *http.Request) (response *http.Response, err error) {
	// The values are those of the outer request: its connection, its span, its hops.
	ctx, cancel := context.WithCancel(i.outer.Context())
	defer cancel()
	defer context.AfterFunc(request.Context(), cancel)()
	r := request.WithContext(ctx)
	r.Proto, r.ProtoMajor, r.ProtoMinor = i.outer.Proto, i.outer.ProtoMajor, i.outer.ProtoMinor
	r.Host, r.RemoteAddr, r.TLS, r.RequestURI = i.outer.Host, i.outer.RemoteAddr, i.outer.TLS, request.URL.RequestURI()
	for _, name := range forwarded {
		if values := i.outer.Header.Values(name); len(values) > 0 {
			r.Header[name] = values
		}
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	defer func() {
		if broken := recover(); broken != nil {
			if broken != http.ErrAbortHandler {
				panic(broken)
			}
			err = errors.New("the response was cut off")
		}
	}()
	i.api.ServeHTTP(w, r)
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: w.status, Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), Header: w.header,
		Body: io.NopCloser(bytes.NewReader(w.body)),
	}, nil
}

// recorder keeps a response, up to a little more than maxResponse.
type recorder struct {
	header http.Header
	status int
	body   []byte
}

var errFull = errors.New("the response is larger than a tool reads")

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) { w.status = status }

func (w *recorder) Write(b []byte) (int, error) {
	n := min(len(b), maxResponse+1-len(w.body))
	w.body = append(w.body, b[:n]...)
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

var _ httpapi.Foreign = (*Handler)(nil)
