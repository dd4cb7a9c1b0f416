// Command provider is an OpenID provider for one client: the server of
// github.com/zitadel/oidc with persons of its own. It is a module of its own, so that its
// dependencies stay out of the service's.
//
//	provider REDIRECT_URI
//
// It prints its issuer once it serves.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

// people are who can sign in, by ID. The password of all is in the test.
const people = `{
	"id1": {"ID": "id1", "Username": "ann", "Password": "correct horse battery", "FirstName": "Ann", "Email": "ann@example.com", "EmailVerified": true},
	"id2": {"ID": "id2", "Username": "bob", "Password": "correct horse battery", "FirstName": "Bob", "Email": "bob@example.com", "EmailVerified": true},
	"id3": {"ID": "id3", "Username": "eve", "Password": "correct horse battery", "FirstName": "Eve", "Email": "ann@example.com", "EmailVerified": false}
}`

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "provider")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "people.json")
	if err := os.WriteFile(file, []byte(people), 0o600); err != nil {
		return err
	}
	users, err := storage.StoreFromFile(file)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	issuer := "http://" + listener.Addr().String() + "/"
	storage.RegisterClients(storage.WebClient("punctual", "the secret of the client", os.Args[1]))
	fmt.Println(issuer)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test has ended
		_ = listener.Close()
	}()
	_ = http.Serve(listener, exampleop.SetupServer(issuer, storage.NewStorage(users), slog.New(slog.DiscardHandler), false))
	return nil
}
