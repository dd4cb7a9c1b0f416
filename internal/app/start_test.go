package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/faulty"
)

// configured returns the configuration of a node on a database, whose address is free.
func configured(url string) Config {
	return Config{Listen: "127.0.0.1:0", DatabaseURL: url, PublicAPIKey: "public", Concurrency: 4, Log: slog.New(slog.DiscardHandler),
		Listening: func(string) {}}
}

// endedUncleanly reports whether a node of a database has ended without NodeStop, as
// the next node finds.
func endedUncleanly(t *testing.T, url string) (unclean bool) {
	t.Helper()
	in(t, url, func(s store.Copyable) error {
		node, err := s.NodeStart(t.Context())
		if err == nil {
			_, unclean, err = s.SuspectList(t.Context(), node, 1)
		}
		return errors.Join(err, s.NodeStop(t.Context(), node))
	})
	return unclean
}

func TestNode_FailedStartLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for method, stops := range map[string]int{
		"NodeStart": 0, "EncryptedSigning": 1, "AccountGet": 1, "TargetBlocks": 1, "SuspectList": 1, "AlertAccounts": 1,
		"QueueAbandoned": 1,
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			url := file(t)
			n := &Node{config: configured(url)}
			if err := n.open(t.Context()); err != nil {
				t.Fatal(err)
			}
			broken, failure := faulty.New(n.database), errors.New("the database fails")
			broken.Set(method, faulty.Fault{Err: failure})
			n.database = broken
			if err := n.start(t.Context()); !errors.Is(err, failure) {
				t.Errorf("the start returns %v", err)
			}
			if err := n.close(); err != nil {
				t.Errorf("closing returns %v", err)
			}
			if got := broken.Calls("NodeStop"); got != stops {
				t.Errorf("NodeStop was called %d times, want %d", got, stops)
			}
			if endedUncleanly(t, url) {
				t.Error("the next node takes this one for crashed")
			}
			again, err := net.Listen("tcp", n.listener.Addr().String())
			if err != nil {
				t.Fatalf("the address is still in use: %v", err)
			}
			_ = again.Close()
		})
	}
}

// TestNode_FailedStartKeepsWhatACrashLeft starts a node that can't run on a database
// whose last node has crashed.
func TestNode_FailedStartKeepsWhatACrashLeft(t *testing.T) {
	t.Parallel()
	url := file(t)
	in(t, url, func(s store.Copyable) error {
		_, err := s.NodeStart(t.Context())
		return err
	})
	c := configured(url)
	c.SecretsKeyFile = filepath.Join(t.TempDir(), "missing")
	if err := Run(t.Context(), c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the node returns %v", err)
	}
	if !endedUncleanly(t, url) {
		t.Error("the next node does not learn of the crash")
	}
}

func TestNode_AWrongConfigurationLeavesNoDatabaseBehind(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for want, change := range map[string]func(*Config){
		"--target-ca-file can't be read": func(c *Config) { c.TargetCAFile = "missing" },
		"--listen":                       func(c *Config) { c.Listen = taken.Addr().String() },
		"--metrics-listen":               func(c *Config) { c.MetricsListen = taken.Addr().String() },
	} {
		url := file(t)
		c := configured(url)
		change(&c)
		if err := Run(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the node returns %v, want %s", err, want)
		}
		if _, err := os.Stat(strings.TrimPrefix(url, "sqlite:")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: there is a database: %v", want, err)
		}
	}
}

// TestNode_ACancelledStartEndsItsNode cancels the start once the node is registered.
func TestNode_ACancelledStartEndsItsNode(t *testing.T) {
	t.Parallel()
	url := file(t)
	n := &Node{config: configured(url)}
	if err := n.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n.database = faulty.NewAround(n.database, func(_ context.Context, method string, call func() error) error {
		if method == "AccountGet" {
			cancel()
		}
		return call()
	})
	if err := n.start(ctx); err == nil {
		t.Error("the start has succeeded")
	}
	if err := n.close(); err != nil {
		t.Errorf("closing returns %v", err)
	}
	if endedUncleanly(t, url) {
		t.Error("the next node takes this one for crashed")
	}
}

// A service that is stopped while it opens its database, or waits for it, has not failed.
func TestRun_StoppedWhileStarting(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := Run(ctx, configured(file(t))); err != nil {
		t.Errorf("stopped at once: %v", err)
	}
	ctx, stop = context.WithCancel(t.Context())
	config := configured("postgres://127.0.0.1:1/none")
	config.Log = slog.New(slog.NewTextHandler(stopper(stop), nil))
	if err := Run(ctx, config); err != nil {
		t.Errorf("stopped while it waited: %v", err)
	}
}

// stopper stops a service at its first line of log.
type stopper context.CancelFunc

func (s stopper) Write(line []byte) (int, error) {
	s()
	return len(line), nil
}
