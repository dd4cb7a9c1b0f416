package execute

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// forgeries are what a target of HTTP/2 sends after its complete response to the first
// request, so that it could be taken for the response to another one.
var forgeries = map[string]func(f *framer){
	"a second response":           func(f *framer) { respond(f, 1, "forged") },
	"the response to a later one": func(f *framer) { respond(f, 3, "forged") },
	"a response to no request":    func(f *framer) { respond(f, 2, "forged") },
	"a pushed response": func(f *framer) {
		block := fieldBlock(":method", "GET", ":scheme", "https", ":authority", "127.0.0.1", ":path", "/")
		_ = f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: block, EndHeaders: true})
		respond(f, 2, "forged")
	},
	"the header of a later one": func(f *framer) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: fieldBlock(":status", "299"), EndHeaders: true})
	},
	"data of a later one": func(f *framer) { _ = f.WriteData(3, true, []byte("forged")) },
	"an end of all streams": func(f *framer) {
		_ = f.WriteGoAway(1, http2.ErrCodeNo, nil)
		respond(f, 3, "forged")
	},
}

func fieldBlock(pairs ...string) []byte {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for i := 0; i < len(pairs); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return block.Bytes()
}

// respond sends a response with a body.
func respond(f *framer, stream uint32, text string) {
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: fieldBlock(":status", "200"), EndHeaders: true})
	_ = f.WriteData(stream, true, []byte(text))
}

// Nothing that a target sends unasked becomes the response to a later request, nor keeps
// one from being answered.
func TestHTTP2_NoForgedResponseIsTaken(t *testing.T) {
	for name, forge := range forgeries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			type sent struct{ read, ended <-chan struct{} }
			forged := make(chan sent, 16)
			url := framing(t, nil, func(f *framer, frame http2.Frame) {
				if ping, ok := frame.(*http2.PingFrame); ok && ping.IsAck() {
					f.acks <- struct{}{}
				}
				if !isRequest(frame) {
					return
				}
				stream := frame.Header().StreamID
				respond(f, stream, "genuine")
				if stream == 1 {
					forge(f)
				}
				_ = f.WritePing(false, [8]byte{})
				forged <- sent{read: f.acks, ended: f.ended}
			})
			c := newClientOf(t, true)
			for range 3 {
				if got := answered(t, c, get(url)); got.Status != 200 || string(got.Body) != "genuine" {
					t.Errorf("got status %d and %q", got.Status, got.Body)
				}
				s := <-forged // the client has read it when it answers the ping behind it, or ends the connection
				select {
				case <-s.read:
				case <-s.ended:
				}
			}
		})
	}
}

// Trailers are not part of the header: they could steer a job, or hide what it got.
func TestTrailers_AddNoFields(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		url := serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "ok")
			_ = http.NewResponseController(w).Flush()
			for _, name := range []string{"Content-Type", "Retry-After", "X-Late"} {
				w.Header().Set(http.TrailerPrefix+name, "application/json")
			}
		}))
		c := newClient(t)
		for range 2 {
			resp := answered(t, c, get(url))
			if resp.Header.Get("Content-Type") != "text/plain" || resp.Header.Get("Retry-After") != "" || resp.Header.Get("X-Late") != "" {
				t.Errorf("got %v", resp.Header)
			}
		}
	})
	// Fields that frame a message are no trailers.
	for _, field := range []string{"Content-Length: 9", "Transfer-Encoding: chunked"} {
		url, conns := scripted(t, func(r turn) bool {
			r.say("HTTP/1.1 200 OK\r\nTrailer: " + field[:strings.IndexByte(field, ':')] +
				"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" + field + "\r\n\r\n")
			return true
		})
		c := newClient(t)
		for range 2 {
			out := c.Do(t.Context(), get(url))
			if out.Response != nil && string(out.Response.Body) != "ok" {
				t.Errorf("%s: got %+v", field, out.Response)
			}
		}
		if n := conns.Load(); n != 2 {
			t.Errorf("after the trailer %s the connection is used again", field)
		}
	}
}
