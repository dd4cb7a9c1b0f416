package view

import (
	"context"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

// live returns the attributes of a live part, which live.js fetches again from self
// after an event of the stream at events; none if on is false.
func live(on bool, events, self string) templ.Attributes {
	if !on {
		return nil
	}
	return templ.Attributes{"data-live": events, "data-part": self}
}

// hrefIn returns ui.Href for a context.
func hrefIn(ctx context.Context) func(format string, args ...any) string {
	return func(format string, args ...any) string { return ui.Href(ctx, format, args...) }
}
