package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/postgres"
	"github.com/punctual-dev/punctual/internal/store/sqlite"
)

// OpenStore opens the database that a URL names and brings its tables up to
// date. A node opens it exclusively, where the database is for one node only.
func OpenStore(ctx context.Context, url string, exclusive bool) (store.Store, error) {
	var s store.Store
	var err error
	path, isFile := strings.CutPrefix(url, "sqlite:")
	switch {
	case isFile && path != "":
		s, err = sqlite.Open(ctx, strings.TrimPrefix(path, "//"), sqlite.Options{Exclusive: exclusive})
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		s, err = postgres.Open(ctx, url)
	default:
		return nil, fmt.Errorf("--database-url %q is not understood; give sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE", withoutPassword(url))
	}
	if err != nil {
		// No nil pointer in the interface: whoever looks at it wants none.
		return nil, fmt.Errorf("--database-url: %w", err)
	}
	return s, nil
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
