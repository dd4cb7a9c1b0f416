package ui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// PublicPrefix is where the pages of the public account begin.
const PublicPrefix = "/public"

// Viewer is who looks at a page.
type Viewer struct {
	Account *store.Account
	// Public is set under /public: anyone may be looking.
	Public bool
	// Operator may see the sizes of all accounts.
	Operator bool
}

// View is what parts may want to know of the request they are drawn for.
type View struct {
	Viewer *Viewer // nil while nobody is signed in
	Now    time.Time
	// Path is the request's path without PublicPrefix.
	Path string
	// HasPublic tells that there is a public account.
	HasPublic bool
	// Origin is the service's address as the browser knows it: "https://host".
	Origin  string
	Version string
}

type viewKey struct{}

// With gives a context that carries the view.
func With(ctx context.Context, v *View) context.Context { return context.WithValue(ctx, viewKey{}, v) }

// From gives the view of a context; an empty one when there is none.
func From(ctx context.Context) *View {
	if v, ok := ctx.Value(viewKey{}).(*View); ok {
		return v
	}
	return &View{Now: time.Now()}
}

// IsPublic reports whether the page is one of the public account's.
func (v *View) IsPublic() bool { return v.Viewer != nil && v.Viewer.Public }

// Href gives the address of one of the account's pages, which lies under
// /public for the public account. The format is that of fmt.Sprintf.
func Href(ctx context.Context, format string, args ...any) string {
	path := format
	if len(args) > 0 {
		path = fmt.Sprintf(format, args...)
	}
	if !From(ctx).IsPublic() {
		return path
	}
	return strings.TrimSuffix(PublicPrefix+path, "/")
}
