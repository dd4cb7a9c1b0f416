package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/auth"
)

// stopping bounds how long the service may take to stop, also on a busy machine. Its
// attempts under way end at once, since the target responds at once.
const stopping = 15 * time.Second

// service is a punctual of its own, with its files and its target.
type service struct {
	API    *api
	Target *target

	directory string
	stop      context.CancelFunc
	stopped   chan struct{}
	err       error // of a service that has stopped
}

// startService starts a target, and a service on a temporary database that
// trusts it. What was started is closed by close, also after an error.
func startService(ctx context.Context, version string, log *slog.Logger) (s *service, err error) {
	s = &service{}
	if s.Target, err = startTarget(); err != nil {
		return s, err
	}
	if s.directory, err = os.MkdirTemp("", "punctual-demo-"); err != nil {
		return s, fmt.Errorf("the demo needs a place for its database; let TMPDIR name a directory that can be written to: %w", err)
	}
	authority := filepath.Join(s.directory, "authority.pem")
	if err := os.WriteFile(authority, s.Target.Authority, 0o600); err != nil {
		return s, fmt.Errorf("the demo can't write its files: %w", err)
	}
	database := "sqlite:" + filepath.Join(s.directory, "punctual.db")
	key, err := createKey(ctx, database)
	if err != nil {
		return s, fmt.Errorf("making an account and its key: %w", err)
	}
	address := make(chan string, 1)
	s.run(ctx, app.Config{
		Listen: "127.0.0.1:0", DatabaseURL: database, AllowPrivateTargets: true, TargetCAFile: authority,
		Concurrency: 100, Version: version, Log: log, Listening: func(a string) { address <- a },
	})
	select {
	case a := <-address:
		s.API, err = newAPI("http://"+a, key)
		return s, err
	case <-s.stopped:
		return s, s.failure()
	case <-ctx.Done():
		return s, fmt.Errorf("the service did not start in time: %w", context.Cause(ctx))
	}
}

// createKey makes an account with a key, as the commands for it do.
func createKey(ctx context.Context, database string) (key string, err error) {
	store, err := app.OpenStore(ctx, database, false, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	account, err := auth.CreateAccount(ctx, store, "demo@example.com", store.Now())
	if err != nil {
		return "", err
	}
	key, _, err = auth.CreateKey(ctx, store, account, "demo", store.Now())
	return key, err
}

// run runs the service beside the caller. It outlives ctx until close stops it,
// so that an interruption ends things in order too.
func (s *service) run(ctx context.Context, config app.Config) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop, s.stopped = stop, make(chan struct{})
	go func() {
		defer close(s.stopped)
		s.err = app.Run(running, config)
	}()
}

// failure returns why the service has stopped by itself.
func (s *service) failure() error {
	if s.err != nil {
		return fmt.Errorf("the service has failed: %w", s.err)
	}
	return errors.New("the service has stopped too early")
}

// close stops the service, then its target, then removes the files.
func (s *service) close() error {
	var failed error
	if s.API != nil {
		s.API.close()
	}
	if s.stop != nil {
		s.stop()
		select {
		case <-s.stopped:
			failed = s.err
		case <-time.After(stopping):
			failed = fmt.Errorf("the service did not stop within %s", stopping)
		}
	}
	if s.Target != nil {
		s.Target.Close()
	}
	if s.directory != "" {
		if err := os.RemoveAll(s.directory); err != nil {
			failed = errors.Join(failed, fmt.Errorf("the demo's files can't be removed; remove them by hand: %w", err))
		}
	}
	return failed
}
