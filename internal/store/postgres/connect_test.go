package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
)

// dialing returns a configuration whose connections dial opens.
func dialing(t *testing.T, url string, dial func(context.Context) (net.Conn, error)) *pgxpool.Config {
	config, err := configure(url)
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	return config
}

func TestConnect_TellsOnceWhyItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		url := "postgres://user:secret@127.0.0.1:1/x?sslmode=prefer"
		config := dialing(t, url, func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		})
		var told []string
		start := time.Now()
		_, err := adapt(t.Context(), config, url, func(cause error) { told = append(told, fmt.Sprint(time.Since(start), " ", cause)) })
		cause := "failed to connect to `user=user database=x`: 127.0.0.1:1 (127.0.0.1): dial error: dial tcp: connection refused"
		if len(told) != 1 || told[0] != "0s "+cause {
			t.Errorf("told %q, want once %q", told, cause)
		}
		want := "the database can't be reached; check its URL, and that it runs: " + cause
		if err == nil || err.Error() != want || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v, want %s", err, want)
		}
		if took := time.Since(start); took < startWithin-time.Second || took > startWithin {
			t.Errorf("it was tried for %v, want %v", took, startWithin)
		}
	})
}

func TestConfigure_ShowsNoPartOfAPassword(t *testing.T) {
	for _, url := range []string{
		"postgres://user:hid@hunter/hid%hunter@localhost/x", "postgres://user:hid%hunter@localhost/x",
		"postgres://user:hid:hunter@hunter:hunter/x",
		"postgres://user:hid hunter@localhost/x", "postgres://user:hid?hunter=%hunter@localhost/x", "postgres://us%er:hunter@localhost/x",
		"postgres://user:hunter#@localhost:hunter/x",
		"postgres://user:pw@localhost/x?connect_timeout=hunter", "postgres://user:hunter@localhost/x?sslmode=odd",
	} {
		_, err := configure(url)
		if err == nil || !strings.Contains(err.Error(), "the database URL can't be read") || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// Servers refuse TLS first, as those without a certificate do, then the session.
func TestConnect_SaysWhyTheServerRefuses(t *testing.T) {
	for code, c := range map[string]struct{ message, advice string }{
		"3D000": {`database "x" does not exist`, "create the database, or correct its name in the URL"},
		"28P01": {`password authentication failed for user "user"`,
			"check the user and the password in the URL; characters such as @, / and % must be percent-encoded"},
		"28000": {`role "user" does not exist`, "check the user in the URL, and that the server's pg_hba.conf permits it from here"},
		"42501": {`permission denied for database "x"`, "grant the user CONNECT on the database"},
		"55000": {`database "x" is not currently accepting connections`, "check its URL, and the server's log"},
	} {
		synctest.Test(t, func(t *testing.T) {
			url := "postgres://user:secret@127.0.0.1:1/x?sslmode=prefer"
			config := dialing(t, url, func(context.Context) (net.Conn, error) {
				client, server := net.Pipe()
				go refuseSession(server, &pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: c.message})
				return client, nil
			})
			start := time.Now()
			_, err := adapt(t.Context(), config, url, func(cause error) { t.Errorf("%s: it waits for %v", code, cause) })
			want := fmt.Sprintf("the database server refuses the connection; %s: FATAL: %s (SQLSTATE %s)", c.advice, c.message, code)
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			if took := time.Since(start); took != 0 {
				t.Errorf("%s: it was tried for %v", code, took)
			}
		})
	}
}

// refuseSession refuses TLS, and a session without it with an error.
func refuseSession(conn net.Conn, refusal *pgproto3.ErrorResponse) {
	defer func() { _ = conn.Close() }()
	server := pgproto3.NewBackend(conn, conn)
	message, err := server.ReceiveStartupMessage()
	if err != nil {
		return
	}
	if _, ok := message.(*pgproto3.SSLRequest); ok {
		_, _ = conn.Write([]byte("N"))
		return
	}
	server.Send(refusal)
	_ = server.Flush() // the client may have left
}

// A server that opens sessions, says that they accept writes, and responds to nothing
// else.
func TestOpen_ASilentServerHoldsUpNoStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		url := "postgres://user@127.0.0.1:1/x?sslmode=disable"
		config := dialing(t, url, func(context.Context) (net.Conn, error) {
			client, server := net.Pipe()
			go openSession(server)
			return client, nil
		})
		for name, start := range map[string]func() error{
			"adapt":   func() error { _, err := adapt(t.Context(), config, url, nil); return err },
			"migrate": func() error { return migrate(t.Context(), config.ConnConfig) },
		} {
			began := time.Now()
			err := start()
			if !errors.Is(err, errSilent) {
				t.Errorf("%s returned %v, want %v", name, err, errSilent)
			}
			if took := time.Since(began); took > 2*connectTimeout {
				t.Errorf("%s returned after %v", name, took)
			}
		}
		time.Sleep(time.Minute) // pgx closes connections in the background
	})
}

// openSession opens a session as a server does, responds to the first query and reads
// what follows until the connection is closed.
func openSession(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	server := pgproto3.NewBackend(conn, conn)
	if _, err := server.ReceiveStartupMessage(); err != nil {
		return
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for queries := 0; server.Flush() == nil; queries++ {
		if _, err := server.Receive(); err != nil {
			return
		}
		if queries == 0 { // SHOW transaction_read_only
			server.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("transaction_read_only"),
				DataTypeOID: 25, DataTypeSize: -1}}})
			server.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("off")}})
			server.Send(&pgproto3.CommandComplete{CommandTag: []byte("SHOW")})
			server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		}
	}
}
