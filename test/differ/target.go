package differ

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"encoding/pem"
)

// target answers the requests of a side's jobs; the path says how.
type target struct {
	url    string
	caFile string

	mu    sync.Mutex
	gates map[string]*gate
}

// gate keeps requests waiting until it is opened.
type gate struct {
	open  chan struct{}
	begun int // requests that have come
}

// answers are the targets' responses by path.
var answers = map[string]struct {
	status int
	body   string
}{
	"/ok": {200, ""}, "/json": {200, `{"a":[1,2.50],"b":null}`}, "/bad": {500, "no"}, "/gone": {410, `{"gone":true}`},
	"/set": {200, `{"$set":{"a":"set"}}`}, "/next": {200, `{"$next":[5,"hours"]}`}, "/never": {200, `{"$next":[4000,"days"]}`},
	"/stop": {200, `{"$stop":true}`}, "/fail": {200, `{"$fail":"because"}`},
}

func newTarget(t *testing.T) *target {
	t.Helper()
	tg := &target{gates: map[string]*gate{}}
	server := httptest.NewUnstartedServer(tg)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	tg.url, tg.caFile = server.URL, filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(tg.caFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return tg
}

func (tg *target) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header()["Date"] = nil
	if name, held := strings.CutPrefix(req.URL.Path, "/hold/"); held {
		select {
		case <-tg.begin(name):
		case <-req.Context().Done():
		}
		return
	}
	answer := answers[req.URL.Path]
	if answer.body != "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(max(answer.status, 200))
	_, _ = w.Write([]byte(answer.body)) // the service has gone
}

// gate returns a gate by its name; mu must be locked.
func (tg *target) gate(name string) *gate {
	if tg.gates[name] == nil {
		tg.gates[name] = &gate{open: make(chan struct{})}
	}
	return tg.gates[name]
}

func (tg *target) begin(name string) <-chan struct{} {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	g := tg.gate(name)
	g.begun++
	return g.open
}

// holds reports whether requests wait at the gate that a URL names.
func (tg *target) holds(url string) bool {
	name, ok := strings.CutPrefix(url, tg.url+"/hold/")
	if !ok {
		return false
	}
	tg.mu.Lock()
	defer tg.mu.Unlock()
	g := tg.gate(name)
	return g.begun > 0 && !isOpen(g)
}

func isOpen(g *gate) bool {
	select {
	case <-g.open:
		return true
	default:
		return false
	}
}

// release opens the gate of a run, or all gates of the run if number is 0.
func (tg *target) release(run, number int) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	prefix := fmt.Sprintf("%d-", run)
	if number > 0 {
		tg.gate(fmt.Sprintf("%s%d", prefix, number))
	}
	for name, g := range tg.gates {
		if strings.HasPrefix(name, prefix) && (number == 0 || name == fmt.Sprintf("%s%d", prefix, number)) && !isOpen(g) {
			close(g.open)
		}
	}
}
