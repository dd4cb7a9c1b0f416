package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/sqlite"
)

// OpenStore opens the database that a URL names and brings its tables up to
// date. A node opens it exclusively, where the database is for one node only.
func OpenStore(ctx context.Context, url string, exclusive bool) (store.Store, error) {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok && path != "" {
		return sqlite.Open(ctx, strings.TrimPrefix(path, "//"), sqlite.Options{Exclusive: exclusive})
	}
	return nil, fmt.Errorf("--database-url %q is not understood; give sqlite:PATH", url)
}
