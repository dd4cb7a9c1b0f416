package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// call is one request for a page being answered.
type call struct {
	http.ResponseWriter
	r      *http.Request
	server *Server
	id     string // the request's
	status int
	// session is that of the account signed in; nil for none.
	session *store.Session
}

// WriteHeader notes the status for the metrics.
func (c *call) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// look notes who looks, for the handler and for all that is drawn.
func (c *call) look(viewer *Viewer) {
	path := c.r.URL.Path
	if viewer != nil && viewer.Public {
		path = strings.TrimPrefix(path, ui.PublicPrefix)
	}
	if path == "" {
		path = "/"
	}
	c.r = c.r.WithContext(ui.With(c.r.Context(), &ui.View{
		Viewer: viewer, Now: c.server.Store.Now(), Path: path, HasPublic: c.server.Public != nil, Origin: edge.Origin(c.r), Version: c.server.Version,
	}))
}

// viewer gives who looks; nil while nobody is signed in.
func (c *call) viewer() *Viewer { return ui.From(c.r.Context()).Viewer }

// owner gives whose records the page shows. Only pages for members may ask.
func (c *call) owner() job.Owner { return c.viewer().Account.Owner }

// href gives the address of one of the account's pages; see ui.Href.
func (c *call) href(format string, args ...any) string {
	return ui.Href(c.r.Context(), format, args...)
}

// param gives a parameter of the address, "" when there is none.
func (c *call) param(name string) string { return c.r.URL.Query().Get(name) }

// here gives the address of this page with other parameters; "" takes one away.
func (c *call) here(changes ...string) string {
	values := c.r.URL.Query()
	values.Del("part")
	values.Del("done")
	for i := 0; i+1 < len(changes); i += 2 {
		values.Del(changes[i])
		if changes[i+1] != "" {
			values.Set(changes[i], changes[i+1])
		}
	}
	return (&url.URL{Path: c.r.URL.Path, RawQuery: values.Encode()}).String()
}

// part names the fragment that is asked for; "" for the whole page.
func (c *call) part() string { return c.param("part") }

// render answers with a page or a part of one.
func (c *call) render(status int, page templ.Component) error {
	var b bytes.Buffer
	b.Grow(32 << 10)
	if err := page.Render(c.r.Context(), &b); err != nil {
		return fmt.Errorf("drawing a page: %w", err)
	}
	c.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	c.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.Write(b.Bytes()) // a browser that went away needs no page
	}
	return nil
}

// redirect leads on to another page of the account, as after a form was taken.
func (c *call) redirect(format string, args ...any) error {
	http.Redirect(c, c.r, c.href(format, args...), http.StatusSeeOther)
	return nil
}

// hrefIn is ui.Href for a context.
func hrefIn(ctx context.Context) func(format string, args ...any) string {
	return func(format string, args ...any) string { return ui.Href(ctx, format, args...) }
}
