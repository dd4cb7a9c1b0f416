package httpapi

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener that gives out the ends of pipes.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestAConnectionInReserveIsKeptAsLongAsAnIdleOne has a client open a connection,
// as Go's does when another one may not come free in time, and use it later.
func TestAConnectionInReserveIsKeptAsLongAsAnIdleOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Config: Config{Log: slog.New(slog.DiscardHandler)}}
		server := s.HTTPServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		listener := make(pipes)
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		defer func() {
			_ = server.Close()
			<-served
		}()
		client, theirs := net.Pipe()
		listener <- theirs
		for range 2 { // in reserve, then idle
			time.Sleep(100 * time.Second)
			go func() { _, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") }()
			answer, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil || answer.StatusCode != 200 {
				t.Fatalf("after 100 seconds: %v", err)
			}
		}
		time.Sleep(idleTimeout + time.Second)
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("after two idle minutes: %v", err)
		}
	})
}
