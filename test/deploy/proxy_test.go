package deploy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/ports"
)

// proxy is a running proxy with TLS, at https://localhost:PORT.
type proxy struct {
	port   string
	client *http.Client
}

func (p *proxy) url(path string) string { return "https://localhost:" + p.port + path }

// proxies are the kinds of proxy that there are configurations for.
var proxies = map[string]func(t testing.TB, p *proxy, nodes []string){"nginx": startNginx, "caddy": startCaddy}

// newProxy chooses the address of a proxy, which nodes must know before it starts.
func newProxy(t testing.TB) *proxy {
	_, port, _ := net.SplitHostPort(ports.Free(t))
	p := &proxy{port: port}
	p.client = &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the certificate is made for the test
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+p.port)
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(p.client.CloseIdleConnections)
	return p
}

// startNginx runs nginx with deploy/nginx/punctual.conf; nodes are addresses.
func startNginx(t testing.TB, p *proxy, nodes []string) {
	dir := temporary(t)
	certificate, key := certify(t, dir)
	servers := make([]string, len(nodes))
	for i, node := range nodes {
		servers[i] = "server " + node + " max_fails=0;"
	}
	conf := replace(t, read(t, "nginx/punctual.conf"),
		"    server 127.0.0.1:8080 max_fails=0;\n", "    "+strings.Join(servers, "\n    ")+"\n",
		"listen 80;\n", "listen "+ports.Free(t)+";\n", "    listen [::]:80;\n", "",
		"listen 443 ssl http2;\n", "listen 127.0.0.1:"+p.port+" ssl http2;\n", "    listen [::]:443 ssl http2;\n", "",
		"server_name punctual.example.com;\n", "server_name localhost;\n",
		"/etc/ssl/punctual.example.com.pem", certificate, "/etc/ssl/punctual.example.com.key", key)
	write(t, filepath.Join(dir, "punctual.conf"), conf)
	// What Debian's nginx.conf has around the files of conf.d.
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;\n"
	}
	temporaries := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporaries += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	write(t, filepath.Join(dir, "nginx.conf"), user+"daemon off;\nworker_processes 1;\npid "+dir+"/pid;\nerror_log stderr warn;\n"+
		"events { worker_connections 512; }\nhttp {\naccess_log off;\n"+temporaries+"include "+dir+"/punctual.conf;\n}\n")
	p.run(t, exec.Command(program(t, "nginx", "nginx-light"), "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf")),
		syscall.SIGTERM)
}

// startCaddy runs Caddy with deploy/caddy/Caddyfile.
func startCaddy(t testing.TB, p *proxy, nodes []string) {
	dir := temporary(t)
	file, err := filepath.Abs(filepath.Join(directory, "caddy", "Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	// Nothing but the site's own port, and nothing outside of the directory.
	write(t, filepath.Join(dir, "Caddyfile"), "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n\tlog {\n\t\tlevel ERROR\n\t}\n}\nimport "+file+"\n")
	cmd := exec.Command(program(t, "caddy", "caddy"), "run", "--config", filepath.Join(dir, "Caddyfile"), "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir,
		"PUNCTUAL_HOST=https://localhost:"+p.port, "PUNCTUAL_NODES="+strings.Join(nodes, " "))
	p.run(t, cmd, syscall.SIGTERM)
}

// run starts the proxy's program, waits until it takes connections, and ends it with
// the test.
func (p *proxy) run(t testing.TB, cmd *exec.Cmd, end os.Signal) {
	t.Helper()
	log := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the log says why
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(end)
		select {
		case <-ended:
		case <-time.After(pace.Guard(20 * time.Second)):
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			text := log.String()
			t.Logf("%s:\n%s", filepath.Base(cmd.Path), text[:min(len(text), 4<<10)])
		}
	})
	harness.Eventually(t, 30*time.Second, "the proxy", func() bool {
		response, err := p.client.Get(p.url("/healthz")) // which it answers itself
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusNotFound
	})
}

// temporary returns a directory that goes with the test.
func temporary(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "punctual-deploy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // leftovers do no harm
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace replaces texts, all of which must be there: otherwise the configuration
// has changed and the test would try something else.
func replace(t testing.TB, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the configuration has no %q any more", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// certify writes a certificate for localhost and its key.
func certify(t testing.TB, dir string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key = filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "key.pem")
	write(t, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return certificate, key
}
