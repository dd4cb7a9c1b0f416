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
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok || path == "" {
		return nil, fmt.Errorf("--database-url %q is not understood; give sqlite:PATH", url)
	}
	s, err := sqlite.Open(ctx, strings.TrimPrefix(path, "//"), sqlite.Options{Exclusive: exclusive})
	if err != nil {
		// No nil *sqlite.Store in the interface: whoever looks at it wants none.
		return nil, fmt.Errorf("--database-url: %w", err)
	}
	return s, nil
}
