package execute

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
)

// hosting starts a target with a certificate and counts its connections, and
// how many of them resumed a session.
func hosting(t *testing.T, cert tls.Certificate) (url string, conns, resumed *atomic.Int64) {
	conns, resumed = &atomic.Int64{}, &atomic.Int64{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conns.Add(1)
		if r.TLS.DidResume {
			resumed.Add(1)
		}
		w.Header().Set("Connection", "close")
	}))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL, conns, resumed
}

func TestSessions_ResumeOnlyAtTheSamePort(t *testing.T) {
	c := newClient(t)
	cert := certificate(t, nil)
	asked := &atomic.Int64{}
	other, _, _ := hosting(t, cert)
	url, conns, resumed := hosting(t, cert)
	for range 3 {
		answered(t, c, get(url))
	}
	if conns.Load() != 3 || resumed.Load() != 2 {
		t.Errorf("%d of %d connections resumed a session, want 2 of 3", resumed.Load(), conns.Load())
	}
	// Another port of the same host is shown no ticket of the first.
	addr := listen(t, func(raw net.Conn) {
		conn := tls.Server(raw, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			const preSharedKey = 41
			for _, extension := range hello.Extensions {
				if extension == preSharedKey {
					asked.Add(1)
				}
			}
			return &tls.Config{Certificates: []tls.Certificate{cert}}, nil
		}})
		// A response before the request would be one that nobody asked for.
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = conn.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
		hold(conn)
	})
	answered(t, c, get(other))
	answered(t, c, get("https://"+addr))
	if asked.Load() != 0 {
		t.Error("a ticket of one port was offered to another")
	}
}

// padded issues a certificate with an extension of that size.
func padded(t *testing.T, size int) tls.Certificate {
	return certificate(t, func(c *x509.Certificate) {
		for n := 0; n < size; n += 60 {
			c.DNSNames = append(c.DNSNames, strings.Repeat("a", 45)+".example.com")
		}
	})
}

func TestLongCertificates(t *testing.T) {
	c := newClient(t)
	url, conns, resumed := hosting(t, padded(t, 30<<10))
	for range 3 {
		answered(t, c, get(url))
	}
	if conns.Load() != 3 || resumed.Load() != 0 {
		t.Errorf("%d of %d sessions with long certificates were kept", resumed.Load(), conns.Load())
	}
	url, _, _ = hosting(t, padded(t, 100<<10))
	f := fails(t, c, get(url), job.KindTLS)
	if !strings.Contains(f.Message, "longer than 64 KiB together") {
		t.Errorf("got message %q", f.Message)
	}
	awaitNoConns(t, c)
}

// Accounts with many sessions displace their own.
func TestSessions_AnAccountDisplacesNoneOfOthers(t *testing.T) {
	url, conns, resumed := hosting(t, certificate(t, nil))
	c := newClient(t)
	victim := parties[0]
	answered(t, c, victim.of(get(url)))
	for i := range 3 * tlsSessions {
		c.sessions.all.Put(int64(100+i%2), strconv.Itoa(i), nil, 1)
	}
	answered(t, c, victim.of(get(url)))
	if conns.Load() != 2 || resumed.Load() != 1 {
		t.Errorf("%d of %d connections resumed a session, want 1 of 2", resumed.Load(), conns.Load())
	}
}
