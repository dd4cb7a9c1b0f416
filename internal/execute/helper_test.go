package execute

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/test/pace"
)

// TestMain silences what net/http logs about the hostile targets. However slow the machine
// is, tests wait for connections that are opened ahead, and one that was just used has
// been used recently, and a question that is answered at once takes no long wait.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	openLimit, dialLimit = patience, max(dialLimit, patience)
	recentUse, recentOpen = 15*time.Second, 30*time.Second
	longWait, longMaking = 200*time.Millisecond, 400*time.Millisecond
	os.Exit(m.Run())
}

// patience bounds what should take no time at all.
var patience = pace.Guard(10 * time.Second)

// authority is the CA all test targets have their certificates from.
var authority = sync.OnceValue(func() (ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}) {
	ca.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &ca.key.PublicKey, ca.key)
	if err != nil {
		panic(err)
	}
	ca.cert, _ = x509.ParseCertificate(der)
	ca.pool = x509.NewCertPool()
	ca.pool.AddCert(ca.cert)
	return ca
})

// certificate issues one for 127.0.0.1 and localhost, or for what change says.
func certificate(t testing.TB, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if change != nil {
		change(template)
	}
	ca := authority()
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &ca.key.PublicKey, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: ca.key}
}

// anywhere permits every address, and all ports that browsers don't block.
func anywhere() *Targets {
	ports, _ := ParsePorts("1,1-65535")
	return NewTargets(TargetsConfig{AllowPrivate: true, Ports: ports})
}

// newClient returns a client that trusts test targets and may call them.
func newClient(t testing.TB) *Client { return newClientOf(t, false) }

func newClientOf(t testing.TB, preferHTTP2 bool) *Client {
	c := New(Config{Version: "1.2.3", Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 64, PreferHTTP2: preferHTTP2})
	t.Cleanup(c.Close)
	return c
}

// eachProtocol runs a test over HTTP/1.1 and over HTTP/2.
func eachProtocol(t *testing.T, test func(t *testing.T, serve func(http.Handler) string)) {
	for _, h2 := range []bool{false, true} {
		name, major := "HTTP/1.1", 1
		if h2 {
			name, major = "HTTP/2", 2
		}
		t.Run(name, func(t *testing.T) {
			test(t, func(h http.Handler) string {
				return serve(t, h2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.ProtoMajor != major {
						t.Errorf("the request came over %s", r.Proto)
					}
					h.ServeHTTP(w, r)
				}))
			})
		})
	}
}

// serve starts a target and returns its URL.
func serve(t testing.TB, h2 bool, h http.Handler) string {
	return serveCounting(t, h2, h, &atomic.Int64{}).URL
}

// serveCounting is serve for a target that counts its connections. One over HTTP/2
// refuses HTTP/1.1.
func serveCounting(t testing.TB, h2 bool, h http.Handler, conns *atomic.Int64) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = h2
	srv.TLS = &tls.Config{
		Certificates:     []tls.Certificate{certificate(t, nil)},
		VerifyConnection: func(tls.ConnectionState) error { conns.Add(1); return nil },
	}
	if h2 {
		srv.TLS.NextProtos = []string{"h2"}
		refusing := srv.TLS.Clone()
		refusing.NextProtos = []string{"none of these"}
		srv.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if slices.Contains(hello.SupportedProtos, "h2") {
				return nil, nil
			}
			return refusing, nil
		}
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

// listen starts a bare TCP listener whose connections are handed to handle,
// and returns its address. They are closed at the end of the test, or before.
func listen(t testing.TB, handle func(net.Conn)) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	conns := []net.Conn{}
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			all.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return ln.Addr().String()
}

// hostile starts a target that reads one HTTP/1.1 request of each connection
// over TLS and leaves the response to the caller.
func hostile(t testing.TB, answer func(net.Conn)) string {
	cfg := &tls.Config{Certificates: []tls.Certificate{certificate(t, nil)}, NextProtos: []string{"http/1.1"}}
	return "https://" + listen(t, func(raw net.Conn) {
		conn := tls.Server(raw, cfg)
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			answer(conn)
		}
	})
}

// says is a response for hostile: a text, after which the connection is closed.
func says(text string) func(net.Conn) {
	return func(c net.Conn) {
		c.Write([]byte(text))
		c.Close()
	}
}

// hold keeps a connection open until the other side closes it.
func hold(c net.Conn) {
	buf := make([]byte, 1024)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}

// get is a plain request.
func get(url string) Request {
	return Request{Method: "GET", URL: url, Timeout: patience, FollowRedirects: true}
}

// answered sends the request and expects a response.
func answered(t testing.TB, c *Client, r Request) *job.Response {
	t.Helper()
	out := c.Do(context.Background(), r)
	if out.Failure != nil {
		t.Fatalf("%s %s failed: %s: %s", r.Method, r.URL, out.Failure.Kind, out.Failure.Message)
	}
	return out.Response
}

// fails sends the request and expects a failure of that kind.
func fails(t testing.TB, c *Client, r Request, kind job.Kind) *job.Failure {
	t.Helper()
	out := c.Do(context.Background(), r)
	if out.Response != nil {
		t.Fatalf("%s %s was answered with %d", r.Method, r.URL, out.Response.Status)
	}
	if out.Failure.Kind != kind {
		t.Fatalf("%s %s failed with %q (%s), want %q", r.Method, r.URL, out.Failure.Kind, out.Failure.Message, kind)
	}
	return out.Failure
}

// receive takes one value off a channel.
func receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// eventually calls look until it returns "", and fails the test with what it returned
// last if that takes too long.
func eventually(t testing.TB, look func() (missing string)) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		missing := look()
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(missing)
		}
	}
}

// servingOne is a target that responds on its first connection and does not shake hands
// on others, which it reports. ready returns when a request may be responded to.
func servingOne(t testing.TB, others chan<- struct{}, ready func(number int)) (url string) {
	cfg := &tls.Config{Certificates: []tls.Certificate{certificate(t, nil)}}
	var accepted atomic.Int32
	return "https://" + listen(t, func(raw net.Conn) {
		if accepted.Add(1) > 1 {
			others <- struct{}{}
			hold(raw)
			return
		}
		conn := tls.Server(raw, cfg)
		buf := make([]byte, 4096)
		for number := 0; ; number++ {
			if _, err := conn.Read(buf); err != nil {
				return
			}
			ready(number)
			_, _ = io.WriteString(conn, okay)
		}
	})
}

// idleAt returns how many idle connections to an address account 0 has. Called with
// c.conns.mu held.
func idleAt(c *Client, at string) int {
	if h := c.conns.holders[0]; h != nil {
		return h.at[at]
	}
	return 0
}

// idleOf returns how many idle connections the pool has, and how many in all.
func idleOf(c *Client) (idle, open int) {
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	for _, h := range c.conns.kept.hosts {
		idle += len(h.idle)
	}
	return idle, c.conns.kept.open
}
