package edge

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/network"
)

// multiplexed starts a server and returns its URL.
func multiplexed(t *testing.T, connections int, handler http.HandlerFunc) string {
	t.Helper()
	s := NewMultiplexed(MultiplexedConfig{
		Handler: handler, Policy: &Policy{Proxies: network.Loopback}, MaxConnections: connections, Log: slog.New(slog.DiscardHandler),
		Refuse: func(w http.ResponseWriter, _ *http.Request, err error) {
			if fault.CodeOf(err) == fault.Unavailable {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		},
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// speaking returns a client that speaks HTTP/1.1, or HTTP/2 without TLS.
func speaking(t *testing.T, two bool) *http.Client {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!two)
	protocols.SetUnencryptedHTTP2(two)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestMultiplexed_ServesBothVersionsOnOneAddress(t *testing.T) {
	t.Parallel()
	url := multiplexed(t, 10, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Proto+" "+string(body)+" "+ClientAddr(r).String())
	})
	for two, want := range map[bool]string{false: "HTTP/1.1 hi 192.0.2.7", true: "HTTP/2.0 hi 192.0.2.7"} {
		request, _ := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader("hi"))
		request.Header.Set("X-Forwarded-For", "192.0.2.7")
		response, err := speaking(t, two).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestMultiplexed_BoundsCallsUnderWay(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	url := multiplexed(t, 4, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	})
	client, ended := speaking(t, true), make(chan int, 10)
	call := func() {
		response, err := client.Get(url)
		if err != nil {
			t.Error(err)
			ended <- 0
			return
		}
		_ = response.Body.Close()
		ended <- response.StatusCode
	}
	for range 6 { // three quarters of two for each of four connections
		go call()
		<-entered
	}
	go call()
	if status := <-ended; status != http.StatusServiceUnavailable {
		t.Errorf("the call beyond the bound has status %d", status)
	}
	close(leave)
	for range 6 {
		if status := <-ended; status != http.StatusOK {
			t.Errorf("a call within the bound has status %d", status)
		}
	}
}

func TestMultiplexed_BoundsBytes(t *testing.T) {
	t.Parallel()
	read := make(chan error, 1)
	url := multiplexed(t, 10, func(_ http.ResponseWriter, r *http.Request) {
		if err := Authenticated(r, 7, false); err != nil {
			read <- err
			return
		}
		_, err := io.Copy(io.Discard, r.Body)
		read <- err
	})
	response, err := speaking(t, true).Post(url, "text/plain", io.LimitReader(endless{}, accountShare+1<<20))
	if err == nil {
		_ = response.Body.Close()
	}
	if err := <-read; fault.CodeOf(err) != fault.TooMany {
		t.Errorf("a body over the account's share: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
