package view

import (
	"context"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

// live returns the attributes of a live part, which live.js fetches again from self
// after something of the account has changed; none if on is false.
func live(ctx context.Context, on bool, self string) templ.Attributes {
	if !on {
		return nil
	}
	return templ.Attributes{"data-live": ui.Href(ctx, "/events"), "data-since": ui.FormatStamp(ui.From(ctx).Now), "data-part": self}
}

// hrefIn returns ui.Href for a context.
func hrefIn(ctx context.Context) func(format string, args ...any) string {
	return func(format string, args ...any) string { return ui.Href(ctx, format, args...) }
}
