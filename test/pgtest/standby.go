package pgtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby starts a copy of the server that follows it, and makes its commits
// wait until the copy has them on disk.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	standby, err := s.standby()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standby.Remove)
	return standby
}

func (s *Server) standby() (*Server, error) {
	standby, err := prepare()
	if err != nil {
		return nil, err
	}
	err = run(standby.dir, "pg_basebackup", "-D", standby.data(), "-d", s.URL("postgres")+"?application_name=standby",
		"--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync")
	if err == nil {
		err = standby.configure([]string{"hot_standby = on"})
	}
	if err == nil {
		err = standby.Run()
	}
	if err == nil {
		err = s.Exec(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`, `SELECT pg_reload_conf()`)
	}
	if err == nil {
		err = s.followed()
	}
	if err != nil {
		standby.Remove()
		return nil, err
	}
	return standby, nil
}

// followed waits until commits wait for the standby.
func (s *Server) followed() error {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin())
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // it is only read from
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var n int
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&n); err != nil {
			return fmt.Errorf("waiting for the standby: %w", err)
		}
		if n > 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the standby did not follow within %s", startWithin())
		}
	}
}

// Promote makes a standby a primary that waits for no other.
func (s *Server) Promote() error {
	if err := run(s.dir, "pg_ctl", "promote", "-D", s.data(), "-w"); err != nil {
		return err
	}
	return s.Exec(`ALTER SYSTEM SET synchronous_standby_names = ''`, `SELECT pg_reload_conf()`)
}
