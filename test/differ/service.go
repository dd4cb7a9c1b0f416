package differ

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/store"
)

// side is a service with its store and its target.
type side struct {
	name   string
	url    string
	target *target
	store  store.Store // opened beside the service, for its accounts
	client *http.Client

	run     int // counts the sequences
	keys    []string
	found   map[int]ids
	symbols *symbols
	begun   time.Time
	// statuses counts the responses that were compared, by what was called.
	statuses map[string]int
}

// accounts is how many accounts a sequence has.
const accounts = 2

// startSide starts a service in this process. It stops when the test ends.
func startSide(t *testing.T, name, databaseURL string) *side {
	t.Helper()
	s := &side{name: name, target: newTarget(t), client: &http.Client{Timeout: time.Minute}, statuses: map[string]int{}}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	keyFile := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keyFile, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, app.Config{
			Listen: "127.0.0.1:0", DatabaseURL: databaseURL, AllowPrivateTargets: true, TargetCAFile: s.target.caFile,
			SecretsKeyFile: keyFile,
			TargetPorts:    execute.Ports{}, Concurrency: 50, Version: "test", Log: slog.New(slog.DiscardHandler),
			Listening: func(a string) { address <- a },
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the service on %s: %v", name, err)
		}
	})
	select {
	case a := <-address:
		s.url = "http://" + a
	case err := <-ended:
		ended <- nil
		t.Fatalf("starting the service on %s: %v", name, err)
	}
	opened, err := app.OpenStore(t.Context(), databaseURL, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	s.store = opened
	return s
}

// newRun prepares a sequence: accounts without records.
func (s *side) newRun(ctx context.Context, begun time.Time) error {
	s.run++
	s.keys, s.found, s.symbols, s.begun = nil, map[int]ids{}, newSymbols(), begun
	for i := range accounts {
		a, err := auth.CreateAccount(ctx, s.store, fmt.Sprintf("%d-%d@example.com", s.run, i), s.store.Now())
		if err != nil {
			return err
		}
		key, _, err := auth.CreateKey(ctx, s.store, a, "differ", s.store.Now())
		if err != nil {
			return err
		}
		s.keys = append(s.keys, key)
	}
	return nil
}

// response is what a call was answered with.
type response struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request and returns the response.
func (s *side) send(account int, method, path, body string, headers map[string]string) (*response, error) {
	req, err := http.NewRequest(method, s.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.keys[account])
	req.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	return &response{resp.StatusCode, resp.Header, text}, errors.Join(err, resp.Body.Close())
}
