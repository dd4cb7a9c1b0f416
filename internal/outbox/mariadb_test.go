package outbox

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// mariaServer is the server of this process: the socket of one that was started here.
var mariaServer = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "mariadb")
	if err != nil {
		return "", err
	}
	socket := filepath.Join(dir, "s")
	install := exec.Command("mariadb-install-db", "--no-defaults", "--datadir="+dir+"/data", "--auth-root-authentication-method=normal",
		"--skip-test-db")
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mariadb-install-db: %w: %s", err, out)
	}
	server := exec.Command("mariadbd", "--no-defaults", "--user=root", "--datadir="+dir+"/data", "--socket="+socket, "--skip-networking",
		"--innodb-flush-log-at-trx-commit=0", "--pid-file="+dir+"/pid")
	if err := server.Start(); err != nil {
		return "", err
	}
	mariaStop = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		_ = os.RemoveAll(dir)
	}
	db, err := sql.Open("mysql", "root@unix("+socket+")/")
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(pace.Guard(time.Minute)); ; time.Sleep(50 * time.Millisecond) {
		if err = db.Ping(); err == nil || time.Now().After(deadline) {
			return socket, err
		}
	}
})

var (
	mariaStop    = func() {}
	mariaCounter atomic.Int64
)

func TestMain(m *testing.M) {
	status := m.Run()
	mariaStop()
	os.Exit(status)
}

// mariaDB creates a database. Without MariaDB's programs, which make test installs, the
// test is skipped.
func mariaDB(t *testing.T) (string, *sql.DB) {
	if _, err := exec.LookPath("mariadbd"); err != nil {
		t.Skip("MariaDB's server is missing; install Debian's package mariadb-server, or run make test, which does so as root")
	}
	socket, err := mariaServer()
	if err != nil {
		t.Fatal(err)
	}
	root, err := sql.Open("mysql", "root@unix("+socket+")/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	name := fmt.Sprintf("app%d", mariaCounter.Add(1))
	if _, err := root.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", "root@unix("+socket+")/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return "mysql://root@localhost/" + name + "?socket=" + socket, db
}
