package outbox

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/punctual-dev/punctual/test/mariatest"
)

// mariaServer is the server of this process.
var mariaServer = sync.OnceValues(func() (*mariatest.Server, error) {
	server, err := mariatest.Start()
	if err == nil {
		mariaStop = server.Stop
	}
	return server, err
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
	server, err := mariaServer()
	if errors.Is(err, mariatest.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("app%d", mariaCounter.Add(1))
	db, err := server.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	return "mysql://root@localhost/" + name + "?socket=" + server.Socket, db
}
