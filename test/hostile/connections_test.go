package hostile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const publicKey = harness.PublicKey

// holds returns an attack that opens n connections, writes a text on each and
// keeps them for as long as the service does.
func holds(name string, n int, text string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		s.connect(ctx, n, func(conn net.Conn) {
			_, _ = io.WriteString(conn, text) // the service may refuse it
			_, _ = io.Copy(io.Discard, conn)
		})
	}}
}

// drips returns an attack that writes a text a few bytes at a time.
func drips(name string, n int, head, piece string, every time.Duration) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		s.connect(ctx, n, func(conn net.Conn) {
			_, _ = io.WriteString(conn, head)
			for ctx.Err() == nil {
				if _, err := io.WriteString(conn, piece); err != nil {
					return
				}
				pause(ctx, every)
			}
		})
	}}
}

// connect opens n connections at once and ends them when the context does.
func (s *strike) connect(ctx context.Context, n int, use func(net.Conn)) {
	s.open(ctx, n, func(int) string { return s.address }, use)
}

// connectFrom is connect from several addresses that begin alike.
func (s *strike) connectFrom(ctx context.Context, prefix string, addresses, n int, use func(net.Conn)) {
	s.open(ctx, n, func(i int) string { return fmt.Sprint(prefix, 1+i%addresses) }, use)
}

func (s *strike) open(ctx context.Context, n int, address func(i int) string, use func(net.Conn)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			conn, err := s.dial(ctx, address(i))
			if err != nil {
				return // refused, as it may be
			}
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			defer func() { _ = conn.Close() }()
			use(conn)
		})
	}
	all.Wait()
}

// linger reads a stream slowly until the context ends or the service ends it.
func (s *strike) linger(ctx context.Context, path, key string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.service.URL()+path, nil)
	if err != nil {
		return
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, mib))
		pause(ctx, 5*time.Millisecond)
		return
	}
	b := make([]byte, 512)
	for ctx.Err() == nil {
		if _, err := response.Body.Read(b); err != nil {
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// post is the head of a request with a body of a length, by a stranger.
func post(path, length string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: punctual\r\nContent-Type: application/json\r\nContent-Length: " + length + "\r\n\r\n"
}

const chunked = "POST /api/echo HTTP/1.1\r\nHost: punctual\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

var connectionAttacks = []attack{
	holds("2,000 idle connections", 2000, ""),
	holds("1,000 begun headers", 1000, "GET /api/ping HTTP/1.1\r\nHost: pun"),
	holds("800 declared bodies that never come", 800, post("/api/echo", "1048576")),
	holds("500 bodies but for the last byte", 500, post("/api/echo", "65537")+fill("1", 64*kib)),
	holds("300 broadcasts that never come", 300, post("/api/broadcast", "1048576")),
	holds("300 waits for 100 Continue", 300, "POST /api/echo HTTP/1.1\r\nHost: punctual\r\nExpect: 100-continue\r\nContent-Length: 1048576\r\n\r\n"),
	holds("a negative length", 200, post("/api/echo", "-1")),
	holds("a length beyond all numbers", 200, post("/api/echo", fill("9", 1000))),
	holds("two lengths", 200, strings.Replace(post("/api/echo", "5"), "\r\n\r\n", "\r\nContent-Length: 6\r\n\r\n", 1)+"hello"),
	holds("a length and chunks", 200, strings.Replace(post("/api/echo", "5"), "\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n", 1)+
		"0\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
	holds("a chunk beyond all numbers", 200, chunked+"ffffffffffffffff\r\n"+fill("a", 64*kib)),
	holds("a chunk extension of 64 KB", 200, chunked+"1;"+fill("e", 64*kib)+"\r\n1\r\n0\r\n\r\n"),
	holds("10,000 chunks of a byte", 50, chunked+strings.Repeat("1\r\n1\r\n", 10_000)+"0\r\n\r\n"),
	holds("10,000 trailers", 50, chunked+"1\r\n1\r\n0\r\n"+strings.Repeat("X-T: 1\r\n", 10_000)+"\r\n"),
	holds("4,000 headers", 50, "GET /api/ping HTTP/1.1\r\nHost: punctual\r\n"+strings.Repeat("X-A: 1\r\n", 4000)+"\r\n"),
	holds("a header of 2 MB", 50, "GET /api/ping HTTP/1.1\r\nHost: punctual\r\nX-A: "+fill("a", 2*mib)+"\r\n\r\n"),
	holds("a request line of 2 MB", 50, "GET /"+fill("a", 2*mib)+" HTTP/1.1\r\n\r\n"),
	holds("5,000 requests at once on each", 20, strings.Repeat("GET /api/ping HTTP/1.1\r\nHost: punctual\r\n\r\n", 5000)),
	holds("a TLS greeting", 300, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"+fill("\x00", 512)),
	holds("an HTTP/2 preface", 300, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
	holds("an upgrade", 200, "GET /api/ping HTTP/1.1\r\nHost: punctual\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"),
	holds("bytes that are no HTTP", 300, fill("\x00\xff\x7f", 4*kib)),
	drips("500 headers that drip", 500, "GET /api/ping HTTP/1.1\r\nHost: punctual\r\n", "X-A: b\r\n", 100*time.Millisecond),
	drips("300 bodies that drip", 300, post("/api/echo", "1048576"), "1", 100*time.Millisecond),
	drips("200 chunked bodies that drip", 200, chunked, "1\r\n1\r\n", 100*time.Millisecond),
	{"connections opened and reset", func(ctx context.Context, s *strike) {
		s.flood(ctx, 16, func(int) {
			conn, err := s.dial(ctx, s.address)
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "GET /api/ping HTTP/1.1\r\nHost: punctual\r\n\r\n")
			_ = conn.(*net.TCPConn).SetLinger(0) // a reset instead of an orderly end
			_ = conn.Close()
		})
	}},
	{"half-closed connections", func(ctx context.Context, s *strike) {
		s.connect(ctx, 500, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "GET /api/ping HTTP/1.1\r\nHost: punctual\r\n\r\n")
			_ = conn.(*net.TCPConn).CloseWrite()
			pause(ctx, strictWindow)
		})
	}},
	{"responses that nobody reads", func(ctx context.Context, s *strike) {
		s.connect(ctx, 200, func(conn net.Conn) {
			_ = conn.(*net.TCPConn).SetReadBuffer(1024)
			_, _ = io.WriteString(conn, strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: punctual\r\n\r\n", 100))
			pause(ctx, strictWindow)
		})
	}},
	{"responses read a byte at a time", func(ctx context.Context, s *strike) {
		s.connect(ctx, 200, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "GET /openapi.json HTTP/1.1\r\nHost: punctual\r\n\r\n")
			for r := bufio.NewReaderSize(conn, 16); ctx.Err() == nil; pause(ctx, 10*time.Millisecond) {
				if _, err := r.ReadByte(); err != nil {
					return
				}
			}
		})
	}},
	{"connections from 200 addresses", func(ctx context.Context, s *strike) {
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				for range 10 {
					conn, err := s.dial(ctx, fmt.Sprintf("127.0.90.%d", 1+i))
					if err != nil {
						return
					}
					stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
					defer stop()
				}
				pause(ctx, strictWindow)
			})
		}
		all.Wait()
	}},
	{"1,500 connections full of requests, from 4 addresses", func(ctx context.Context, s *strike) {
		requests := strings.Repeat("GET /api/ping HTTP/1.1\r\nHost: punctual\r\n\r\n", 3000)
		s.connectFrom(ctx, "127.0.93.", 4, 1500, func(conn net.Conn) {
			_ = conn.(*net.TCPConn).SetReadBuffer(1024)
			_, _ = io.WriteString(conn, requests) // until the service has enough of it
			<-ctx.Done()                          // and none of the responses is read
		})
	}},
	{"health checks and metrics", func(ctx context.Context, s *strike) {
		paths := []string{"/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"}
		s.flood(ctx, 16, func(n int) { s.call(http.MethodGet, paths[n%len(paths)], "", nil) })
	}},
	{"readiness alone", func(ctx context.Context, s *strike) {
		s.flood(ctx, 64, func(int) { s.call(http.MethodGet, "/readyz", "", nil) })
	}},
	{"calls without a key", func(ctx context.Context, s *strike) {
		s.flood(ctx, 32, func(int) { s.call(http.MethodGet, "/api/jobs", "", nil) })
	}},
	{"keys that nobody has", func(ctx context.Context, s *strike) {
		s.flood(ctx, 32, func(n int) { s.call(http.MethodGet, "/api/jobs", fmt.Sprintf("sk_%043d", n), nil) })
	}},
	{"keys that nobody has, from 100 addresses", func(ctx context.Context, s *strike) {
		s.flood(ctx, 32, func(n int) {
			s.send(s.from(fmt.Sprintf("127.0.91.%d", 1+n%100)), http.MethodGet, "/api/jobs", fmt.Sprintf("sk_%043d", n), nil)
		})
	}},
	{"the public key", func(ctx context.Context, s *strike) {
		s.flood(ctx, 32, func(int) { s.create(publicKey, `"url":"https://127.0.0.1:1443/","schedule_in":3600`) })
	}},
}
