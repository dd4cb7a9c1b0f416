package clienttest

import (
	"errors"
	"testing"

	"github.com/punctual-dev/punctual/test/mariatest"
)

// startMariaDB returns the variable with the socket of a server that has the empty
// database punctual_test; nothing without MariaDB's programs, and tests skip.
func startMariaDB(t *testing.T) []string {
	t.Helper()
	server, err := mariatest.Start()
	if errors.Is(err, mariatest.ErrMissing) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	db, err := server.Create("punctual_test")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return []string{"PUNCTUAL_TEST_MARIADB=" + server.Socket}
}
