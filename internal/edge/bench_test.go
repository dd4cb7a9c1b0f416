package edge

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/network"
)

// BenchmarkCalls compares calls through a Server with those through a server of
// the standard library alone: small ones, and bodies of 1 MiB that come back.
func BenchmarkCalls(b *testing.B) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.Error(err)
		}
		_, _ = w.Write(body)
	})
	plain := &http.Server{Handler: echo}
	bounded := NewServer(ServerConfig{Handler: echo, MaxConnections: 1000, Policy: &Policy{Proxies: network.Loopback},
		Log: slog.New(slog.DiscardHandler)})
	for name, serve := range map[string]func(net.Listener) error{"plain": plain.Serve, "bounded": bounded.Serve} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- serve(l) }()
		for size, body := range map[string]string{"small": "{}", "large": strings.Repeat("x", 1<<20)} {
			b.Run(size+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						answer, err := client.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader(body))
						if err != nil {
							b.Error(err)
							return
						}
						_, _ = io.Copy(io.Discard, answer.Body)
						_ = answer.Body.Close()
					}
				})
				client.CloseIdleConnections()
			})
		}
		_ = l.Close()
		<-done
	}
}
