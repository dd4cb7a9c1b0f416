package ui

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// PublicPrefix is the path prefix of the public account's pages.
const PublicPrefix = "/public"

// Viewer is the account that a page is rendered for.
type Viewer struct {
	Email string
	// Public is set under /public: the viewer may be anybody.
	Public bool
	// Operator may open the operator's pages.
	Operator bool
	// Role is what the person may do in the account, Person their email, and Accounts
	// are those they belong to.
	Role, Person string
	Accounts     []Account
}

// Account is an account that a person belongs to.
type Account struct {
	ID, Email, Role string
	Current         bool // the page shows it
}

// View is what components may need to know about the request.
type View struct {
	Viewer *Viewer // nil if nobody is signed in
	Now    time.Time
	// Path is the request's path without PublicPrefix.
	Path string
	// Here is the request's path with its parameters.
	Here string
	// SignedIn is the email of the account that is signed in, on pages of the public
	// account; "" if nobody is.
	SignedIn string
	// HasPublic reports whether there is a public account.
	HasPublic bool
	// PublicKey is the API key of the public account; "" if there is none, or if it can't
	// stand in double quotes of a shell.
	PublicKey string
	// Punctuality reports whether the page about lateness may be seen.
	Punctuality bool
	// Origin is the service's address as the browser knows it: "https://host".
	Origin  string
	Version string
	// Preferences are those of the browser.
	Preferences Preferences
	// Undo reverts the previous action, which the page's notice is about; nil if that
	// is impossible.
	Undo *Undo
	// Failing is how many schedules fail, up to FailingCounted; 0 if it is unknown.
	Failing int
}

type viewKey struct{}

// With returns a context that carries the view.
func With(ctx context.Context, v *View) context.Context { return context.WithValue(ctx, viewKey{}, v) }

// From returns the view of a context; an empty one if it carries none.
func From(ctx context.Context) *View {
	if v, ok := ctx.Value(viewKey{}).(*View); ok {
		return v
	}
	return &View{Now: time.Now()}
}

// Key returns the API key for a command, in double quotes of a shell: on pages of the public
// account its key, which everyone may know, elsewhere a variable.
func (v *View) Key() string {
	if v.IsPublic() && v.PublicKey != "" {
		return v.PublicKey
	}
	return "$PUNCTUAL_API_KEY"
}

// IsPublic reports whether the page belongs to the public account.
func (v *View) IsPublic() bool { return v.Viewer != nil && v.Viewer.Public }

// Href returns the address of one of the account's pages, which is under
// PublicPrefix for the public account. The format is that of fmt.Sprintf.
func Href(ctx context.Context, format string, args ...any) string {
	path := format
	if len(args) > 0 {
		path = fmt.Sprintf(format, args...)
	}
	if !From(ctx).IsPublic() {
		return path
	}
	if query, home := strings.CutPrefix(path, "/?"); home {
		return PublicPrefix + "?" + query
	}
	return strings.TrimSuffix(PublicPrefix+path, "/")
}
