package mariatest

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"

	"github.com/punctual-dev/punctual/test/pace"
)

// ErrMissing reports that the programs of MariaDB are not installed.
var ErrMissing = errors.New("MariaDB's server is missing; install Debian's package mariadb-server, or run make test, which does so as root")

// Server is a running server, with the user root without a password.
type Server struct {
	// Socket is the path of its socket.
	Socket string

	process *exec.Cmd
	dir     string
}

// Start starts a server, which writes without syncs.
func Start() (*Server, error) {
	if _, err := exec.LookPath("mariadbd"); err != nil {
		return nil, ErrMissing
	}
	dir, err := os.MkdirTemp("", "mariadb")
	if err != nil {
		return nil, err
	}
	s := &Server{Socket: filepath.Join(dir, "s"), dir: dir}
	install := exec.Command("mariadb-install-db", "--no-defaults", "--datadir="+dir+"/data", "--auth-root-authentication-method=normal",
		"--skip-test-db")
	if out, err := install.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("mariadb-install-db: %w: %s", err, out), os.RemoveAll(dir))
	}
	s.process = exec.Command("mariadbd", "--no-defaults", "--user=root", "--datadir="+dir+"/data", "--socket="+s.Socket, "--skip-networking",
		"--innodb-flush-log-at-trx-commit=0", "--pid-file="+dir+"/pid")
	if err := s.process.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	db, err := sql.Open("mysql", s.dsn(""))
	if err != nil {
		s.Stop()
		return nil, err
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(pace.Guard(time.Minute)); ; time.Sleep(50 * time.Millisecond) {
		if err = db.Ping(); err == nil {
			return s, nil
		}
		if time.Now().After(deadline) {
			s.Stop()
			return nil, err
		}
	}
}

// Create creates a database and opens it.
func (s *Server) Create(name string) (*sql.DB, error) {
	root, err := sql.Open("mysql", s.dsn(""))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Exec("CREATE DATABASE " + name); err != nil {
		return nil, err
	}
	return sql.Open("mysql", s.dsn(name))
}

func (s *Server) dsn(database string) string { return "root@unix(" + s.Socket + ")/" + database }

// Stop ends the server and removes its files.
func (s *Server) Stop() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	_ = os.RemoveAll(s.dir)
}
