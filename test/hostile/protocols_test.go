package hostile

import (
	"context"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// floods returns an attack by a target that speaks HTTP/2: for each connection
// it greets, and then writes frames for as long as the service reads them. The
// id is that of the first stream.
func floods(name string, write func(f *http2.Framer, id uint32) error) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		url := s.serveRaw(ctx, "h2", func(conn net.Conn) {
			preface := make([]byte, len(http2.ClientPreface))
			if _, err := io.ReadFull(conn, preface); err != nil {
				return
			}
			f := http2.NewFramer(conn, conn)
			if f.WriteSettings() != nil {
				return
			}
			ids := make(chan uint32, 1)
			go readFrames(f, ids)
			select {
			case id := <-ids:
				writer := http2.NewFramer(conn, nil)
				for ctx.Err() == nil && write(writer, id) == nil {
				}
			case <-ctx.Done():
			}
		})
		s.callAll(ctx, url, 50)
	}}
}

// readFrames reads what the service writes, and reports the id of the first stream.
func readFrames(f *http2.Framer, ids chan<- uint32) {
	told := false
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		if headers, ok := frame.(*http2.HeadersFrame); ok && !told {
			told = true
			ids <- headers.StreamID
		}
	}
}

// block encodes headers.
func block(fields ...string) []byte {
	var b strings.Builder
	encoder := hpack.NewEncoder(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // a builder takes everything
	}
	return []byte(b.String())
}

var protocolAttacks = []attack{
	{"connections closed at once", func(ctx context.Context, s *strike) {
		s.callAll(ctx, s.serveConn(ctx, func(net.Conn) {}), 500)
	}},
	{"a handshake that never ends", func(ctx context.Context, s *strike) {
		s.callAll(ctx, s.serveConn(ctx, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }), 500)
	}},
	{"a handshake of garbage", func(ctx context.Context, s *strike) {
		s.callAll(ctx, s.serveConn(ctx, func(conn net.Conn) { _, _ = io.WriteString(conn, fill("\x16\x03\x03\xff", 64*kib)) }), 300)
	}},
	{"an endless handshake", func(ctx context.Context, s *strike) {
		s.callAll(ctx, s.serveConn(ctx, func(conn net.Conn) {
			piece := []byte(fill("\x16\x03\x03\x00\x01\x00", 60*kib))
			for {
				if _, err := conn.Write(piece); err != nil {
					return
				}
			}
		}), 50)
	}},
	says("bytes that are no HTTP", fill("\x00\x01", 64*kib)),
	says("a status of three million digits", "HTTP/1.1 "+fill("2", 3*mib)),
	says("another protocol", "SSH-2.0-OpenSSH_9.6\r\n"),
	says("an upgrade", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"+fill("\x81\x00", 64*kib)),
	says("a body shorter than declared", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nshort"),
	says("a body longer than declared", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"+fill("long", 512*kib)),
	says("a second response", strings.Repeat("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 5000)),
	says("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
	says("a chunk beyond all numbers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"),
	repeats("endless headers", "HTTP/1.1 200 OK\r\n", "X-A: aaaaaaaaaaaaaaaaaaaaaaaa\r\n"),
	repeats("an endless header", "HTTP/1.1 200 OK\r\nX-A: ", "a"),
	repeats("an endless status line", "HTTP/1.1 200 ", "O"),
	repeats("endless early hints", "", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
	repeats("endless 100 Continue", "", "HTTP/1.1 100 Continue\r\n\r\n"),
	repeats("endless tiny chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"),
	repeats("endless chunk extensions", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"1;eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee\r\na\r\n"),
	repeats("endless trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X-T: t\r\n"),
	repeats("an endless body without a length", "HTTP/1.1 200 OK\r\n\r\n", "aaaaaaaa"),
	repeats("bytes on an idle connection", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 408 Request Timeout\r\n\r\n"),
	speaks("a head that drips", func(w io.Writer) {
		for _, err := io.WriteString(w, "HTTP/1.1 200 OK\r\n"); err == nil; time.Sleep(20 * time.Millisecond) { // as slow as an attacker is
			_, err = io.WriteString(w, "X: 1\r\n")
		}
	}),
	floods("HTTP/2: empty DATA", func(f *http2.Framer, id uint32) error { return f.WriteData(id, false, nil) }),
	floods("HTTP/2: empty DATA after headers", func(f *http2.Framer, id uint32) error {
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block(":status", "200"),
			EndHeaders: true}); err != nil {
			return err
		}
		for {
			if err := f.WriteData(id, false, nil); err != nil {
				return err
			}
		}
	}),
	floods("HTTP/2: SETTINGS", func(f *http2.Framer, _ uint32) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65535})
	}),
	floods("HTTP/2: PING", func(f *http2.Framer, _ uint32) error { return f.WritePing(false, [8]byte{1}) }),
	floods("HTTP/2: CONTINUATION", func(f *http2.Framer, id uint32) error {
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block(":status", "200")})
		for piece := block("x-a", fill("a", 4*kib)); err == nil; {
			err = f.WriteContinuation(id, false, piece)
		}
		return err
	}),
	floods("HTTP/2: empty CONTINUATION", func(f *http2.Framer, id uint32) error {
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block(":status", "200")})
		for err == nil {
			err = f.WriteContinuation(id, false, nil)
		}
		return err
	}),
	floods("HTTP/2: RST_STREAM", func(f *http2.Framer, id uint32) error { return f.WriteRSTStream(id, http2.ErrCodeRefusedStream) }),
	floods("HTTP/2: WINDOW_UPDATE", func(f *http2.Framer, _ uint32) error { return f.WriteWindowUpdate(0, 1) }),
	floods("HTTP/2: PRIORITY", func(f *http2.Framer, id uint32) error { return f.WritePriority(id, http2.PriorityParam{Weight: 1}) }),
	floods("HTTP/2: unknown frames", func(f *http2.Framer, id uint32) error { return f.WriteRawFrame(0xfe, 0, id, nil) }),
	floods("HTTP/2: GOAWAY", func(f *http2.Framer, _ uint32) error { return f.WriteGoAway(1<<31-1, http2.ErrCodeNo, nil) }),
	floods("HTTP/2: early hints", func(f *http2.Framer, id uint32) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block(":status", "103", "link", "</a>"),
			EndHeaders: true})
	}),
	floods("HTTP/2: a table that grows", func(f *http2.Framer, _ uint32) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1 << 30})
	}),
	floods("HTTP/2: no window", func(f *http2.Framer, _ uint32) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	}),
	floods("HTTP/2: no streams", func(f *http2.Framer, _ uint32) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
	}),
	floods("HTTP/2: padded DATA", func(f *http2.Framer, id uint32) error {
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block(":status", "200"),
			EndHeaders: true}); err != nil {
			return err
		}
		for padding := make([]byte, 255); ; {
			if err := f.WriteDataPadded(id, false, []byte("a"), padding); err != nil {
				return err
			}
		}
	}),
}
