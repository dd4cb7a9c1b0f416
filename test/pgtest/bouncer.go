package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/ports"
)

// Bouncer is a PgBouncer that pools transactions before a server.
type Bouncer struct {
	Port int

	dir   string
	guard *os.File
	main  *exec.Cmd

	running context.Context // ends with it
	stopped context.CancelFunc
}

// bouncerGuardian is guardian for a PgBouncer.
const bouncerGuardian = `read _
pid=$(cat "$1/pid") && ` + isOurs + ` && kill -KILL "$pid"
rm -rf "$1"`

// StartBouncer runs a PgBouncer for one test, in transaction mode, before the
// server that a URL names.
func StartBouncer(t testing.TB, databaseURL string) *Bouncer {
	t.Helper()
	server, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	b, err := startBouncer(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b.running.Err() != nil {
			t.Logf("PgBouncer ended before the test:\n%s", b.log())
		}
		b.remove()
	})
	return b
}

// Context returns a context that ends when PgBouncer does. Version 1.18, which Debian 12
// has, sometimes ends when clients cancel statements.
func (b *Bouncer) Context() context.Context { return b.running }

func startBouncer(server *url.URL) (*Bouncer, error) {
	dir, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		return nil, err
	}
	b := &Bouncer{dir: dir}
	b.running, b.stopped = context.WithCancel(context.Background())
	if b.guard, err = guard(dir, bouncerGuardian); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if b.Port, err = ports.Pick(); err == nil {
		err = b.configure(server)
	}
	if err == nil {
		err = b.run()
	}
	if err != nil {
		b.remove()
		return nil, err
	}
	return b, nil
}

func (b *Bouncer) configure(server *url.URL) error {
	settings := []string{
		"[databases]", fmt.Sprintf("* = host=%s port=%s", server.Hostname(), server.Port()),
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + strconv.Itoa(b.Port), "unix_socket_dir =",
		"auth_type = trust", "auth_file = " + filepath.Join(b.dir, "users"), "pidfile = " + filepath.Join(b.dir, "pid"),
		"pool_mode = transaction", "max_client_conn = 500", "default_pool_size = 20",
	}
	users := fmt.Sprintf("%q \"\"\n", server.User.Username())
	err := os.WriteFile(filepath.Join(b.dir, "ini"), []byte(strings.Join(settings, "\n")+"\n"), 0o644)
	if err == nil {
		err = os.WriteFile(filepath.Join(b.dir, "users"), []byte(users), 0o644)
	}
	credential, aerr := account()
	if err == nil && aerr == nil && credential != nil {
		err = os.Chown(b.dir, int(credential.Uid), int(credential.Gid))
	}
	return errors.Join(err, aerr)
}

func (b *Bouncer) run() error {
	cmd, err := command(b.dir, "pgbouncer", filepath.Join(b.dir, "ini"))
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(b.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return err
	}
	b.main = cmd
	go func() {
		_ = cmd.Wait() // the log says why
		b.stopped()
	}()
	return b.await()
}

// await waits until it takes connections.
func (b *Bouncer) await() error {
	deadline := time.NewTimer(startWithin())
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", b.Port))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-b.running.Done():
			return fmt.Errorf("PgBouncer ended while starting:\n%s", b.log())
		case <-deadline.C:
			return fmt.Errorf("PgBouncer did not listen within %s: %w", startWithin(), err)
		}
	}
}

// log returns the end of what it has logged, and of why it has ended.
func (b *Bouncer) log() string {
	text, err := os.ReadFile(filepath.Join(b.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s\n%s", text[max(0, len(text)-4000):], b.main.ProcessState)
}

// Through returns a database's URL by way of the pooler.
func (b *Bouncer) Through(databaseURL string) string {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return databaseURL // it was made by this package
	}
	u.Host = fmt.Sprintf("127.0.0.1:%d", b.Port)
	return u.String()
}

func (b *Bouncer) remove() {
	if b.main != nil {
		_ = b.main.Process.Signal(syscall.SIGKILL) // it keeps nothing
		<-b.running.Done()
	}
	_ = b.guard.Close() // now the guard removes the files
}
