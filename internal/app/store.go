package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/postgres"
	"github.com/punctual-dev/punctual/internal/store/sqlite"
)

// OpenStore opens the database that --database-url names and brings its tables
// up to date. A node opens it exclusively, where the database is for one node only.
// Waiting is called with the cause when the database can't be reached at once and is
// tried again; nil for nothing.
func OpenStore(ctx context.Context, url string, exclusive bool, waiting func(cause error)) (store.Store, error) {
	return openAt(ctx, url, exclusive, nil, waiting)
}

// openAt is OpenStore with a clock for a SQLite database; nil for the machine's.
func openAt(ctx context.Context, url string, exclusive bool, now func() time.Time, waiting func(error)) (store.Store, error) {
	s, err := openStore(ctx, "--database-url", url, sqlite.Options{Exclusive: exclusive, Now: now}, waiting)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openStore opens the database that a flag's URL names.
func openStore(ctx context.Context, flag, url string, options sqlite.Options, waiting func(error)) (store.Copyable, error) {
	var s store.Copyable
	var err error
	path, isFile := sqlitePath(url)
	switch {
	case isFile:
		s, err = sqlite.Open(ctx, path, options)
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		s, err = postgres.Open(ctx, url, postgres.Options{Waiting: waiting})
	default:
		return nil, fmt.Errorf("%s %q is not understood; give sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE", flag,
			withoutPassword(url))
	}
	if err != nil {
		// Return a nil interface, not one with a nil pointer.
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return s, nil
}

// sqlitePath returns the file that a URL names.
func sqlitePath(url string) (path string, ok bool) {
	path, ok = strings.CutPrefix(url, "sqlite:")
	return strings.TrimPrefix(path, "//"), ok && path != ""
}

// withoutPassword leaves out what may be one.
func withoutPassword(url string) string {
	user, host, ok := strings.Cut(url, "@")
	if !ok {
		return url
	}
	if i := strings.LastIndex(user, ":"); i >= 0 {
		user = user[:i] + ":…"
	}
	return user + "@" + host
}
