package hostile

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"strings"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// quiet takes what servers say of connections that end: attacks end many.
var quiet = log.New(io.Discard, "", 0)

// serve starts a hostile target that speaks HTTP, for as long as the strike
// lasts, and returns its URL.
func (s *strike) serve(ctx context.Context, handler http.HandlerFunc) string {
	server := &http.Server{Handler: handler, TLSConfig: harness.TLSConfig(s.t), ErrorLog: quiet}
	listener := s.listen()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(listener, "", "") }()
	return "https://" + listener.Addr().String()
}

// serveRaw starts a target that speaks TLS and then whatever it likes.
func (s *strike) serveRaw(ctx context.Context, protocol string, speak func(net.Conn)) string {
	config := harness.TLSConfig(s.t)
	config.NextProtos = []string{protocol}
	return s.serveConn(ctx, func(conn net.Conn) {
		secure := tls.Server(conn, config)
		if secure.HandshakeContext(ctx) == nil {
			speak(secure)
		}
	})
}

// serveConn starts a target that takes connections, and ends them with the
// strike.
func (s *strike) serveConn(ctx context.Context, speak func(net.Conn)) string {
	listener := s.listen()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			go func() {
				defer stop()
				defer func() { _ = conn.Close() }()
				speak(conn)
			}()
		}
	}()
	return "https://" + listener.Addr().String()
}

func (s *strike) listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Errorf("listening: %v", err)
		panic(err)
	}
	return yielding{listener}
}

// yielding takes connections whose writes yield. The victim's target runs in the same
// process: a target that writes without end would delay what measures the service.
type yielding struct{ net.Listener }

func (l yielding) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return yieldingConn{conn.(*net.TCPConn)}, nil
}

type yieldingConn struct{ *net.TCPConn }

func (c yieldingConn) Write(b []byte) (int, error) {
	defer runtime.Gosched()
	return c.TCPConn.Write(b)
}

// hanging returns the URLs of n ports that take connections and say nothing.
func (s *strike) hanging(ctx context.Context, n int) []string {
	urls := make([]string, n)
	for i := range urls {
		listener := s.listen() // the kernel takes the connections
		context.AfterFunc(ctx, func() { _ = listener.Close() })
		urls[i] = "https://" + listener.Addr().String()
	}
	return urls
}

// responds returns an attack by a target: 300 jobs are answered so.
func responds(name string, handler http.HandlerFunc) attack {
	return respondsTo(name, `"retries":0`, handler)
}

// respondsTo is responds for jobs with further members.
func respondsTo(name, more string, handler http.HandlerFunc) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		url, key := s.serve(ctx, handler), s.own()
		s.each(ctx, 16, 300, func(i int) { s.create(key, fmt.Sprintf(`"url":"%s/%d",%s`, url, i, more)) })
		<-ctx.Done()
	}}
}

// speaks returns an attack by a target that writes bytes of its own after it
// has read a request's head.
func speaks(name string, write func(io.Writer)) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		url := s.serveRaw(ctx, "http/1.1", func(conn net.Conn) {
			b := make([]byte, 16*kib)
			if _, err := conn.Read(b); err == nil {
				write(conn)
			}
		})
		s.callAll(ctx, url, 100)
	}}
}

// callAll has n jobs call a URL, which have a second each.
func (s *strike) callAll(ctx context.Context, url string, n int) {
	key := s.own()
	s.each(ctx, 16, n, func(i int) { s.create(key, fmt.Sprintf(`"url":"%s/%d","retries":0,"timeout":1`, url, i)) })
	<-ctx.Done()
}

// says returns an attack by a target that writes a text.
func says(name, text string) attack {
	return speaks(name, func(w io.Writer) { _, _ = io.WriteString(w, text) })
}

// repeats returns an attack by a target that writes a head and then a piece for
// as long as the service reads.
func repeats(name, head, piece string) attack {
	piece = strings.Repeat(piece, 1+4*kib/len(piece))
	return speaks(name, func(w io.Writer) {
		for _, err := io.WriteString(w, head); err == nil; {
			_, err = io.WriteString(w, piece)
		}
	})
}
