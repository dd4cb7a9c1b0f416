package dashboard

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/staticfile"
)

// viewer is the account that requests a page.
type viewer struct {
	account  *identity.Account
	role     identity.Role          // of the person in the account
	accounts []*identity.Membership // that the person belongs to
	public   bool                   // the account of the public key, which anybody may view
	operator bool
	signedIn string // on public pages: the email of the account that is signed in, or ""
}

// call is a request for a page.
type call struct {
	http.ResponseWriter
	r      *http.Request
	server *Server
	id     string // of the request
	status int
	viewer *viewer // nil if nobody is signed in
	// session is the viewer's session, and visit who has it; nil without one.
	session *identity.Session
	visit   *auth.Visit
}

// method returns the method of the request, GET for HEAD.
func (c *call) method() string {
	if c.r.Method == http.MethodHead {
		return http.MethodGet
	}
	return c.r.Method
}

// may reports whether the viewer's role includes another.
func (c *call) may(role identity.Role) bool { return c.viewer.role.Includes(role) }

// WriteHeader records the status for the metrics.
func (c *call) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// setViewer sets the viewer, for the handler and for all components.
func (c *call) setViewer(v *viewer) {
	c.viewer = v
	path := c.r.URL.Path
	var shown *ui.Viewer
	var signedIn string
	if v != nil {
		signedIn = v.signedIn
		shown = &ui.Viewer{Email: v.account.Email, Public: v.public, Operator: v.operator, Role: string(v.role)}
		if c.visit != nil {
			shown.Person = c.visit.Person.Email
		}
		for _, m := range v.accounts {
			shown.Accounts = append(shown.Accounts,
				ui.Account{ID: m.Account.ID.String(), Email: m.Email, Role: string(m.Role), Current: m.Account.Number == v.account.Number})
		}
	}
	if v != nil {
		c.r = c.r.WithContext(access.With(c.r.Context(), v.role))
		c.r = c.r.WithContext(audit.WithActor(job.WithActor(c.r.Context(), c.author()), c.actor()))
	}
	if v != nil && v.public {
		path = strings.TrimPrefix(path, ui.PublicPrefix)
	}
	if path == "" {
		path = "/"
	}
	preferences := c.readPreferences()
	c.r = c.r.WithContext(ui.With(c.r.Context(), &ui.View{
		Preferences: preferences, Now: c.server.Service.Now().In(preferences.Location()),
		Viewer: shown, SignedIn: signedIn, Path: path, Here: c.r.URL.RequestURI(), HasPublic: c.server.Public != nil,
		Origin: edge.Origin(c.r), Version: c.server.Version,
		PublicKey: plainKey(c.server.PublicKey), Punctuality: v != nil && !v.public || c.server.PublicPunctuality,
	}))
}

// plainKey returns a key without characters that mean something in double quotes of a
// shell; "" for others.
func plainKey(key string) string {
	if strings.ContainsAny(key, "\"\\$`!") {
		return ""
	}
	return key
}

// author returns whom the history of a record names.
func (c *call) author() job.Actor {
	if c.viewer.public {
		return job.Actor{Kind: job.ByPublic}
	}
	return job.Actor{Kind: job.BySession, ID: c.visit.Person.ID.String(), Name: c.visit.Person.Email}
}

// account returns the viewer's account. It panics if nobody is signed in, so only
// pages that need a viewer may call it.
func (c *call) account() *identity.Account { return c.viewer.account }

// owner returns the owner of the records that the page shows.
func (c *call) owner() job.Owner { return c.account().Owner }

// href returns the address of one of the account's pages; see ui.Href.
func (c *call) href(format string, args ...any) string {
	return ui.Href(c.r.Context(), format, args...)
}

// param returns a query parameter; "" if it is missing.
func (c *call) param(name string) string { return c.r.URL.Query().Get(name) }

// here returns the address of this page with other parameters; "" removes one.
func (c *call) here(changes ...string) string {
	return c.hereWith(func(values url.Values) {
		for i := 0; i+1 < len(changes); i += 2 {
			values.Del(changes[i])
			if changes[i+1] != "" {
				values.Set(changes[i], changes[i+1])
			}
		}
	})
}

// hereWith returns the address of this page with its parameters changed.
func (c *call) hereWith(change func(url.Values)) string {
	values := c.r.URL.Query()
	values.Del("part")
	values.Del("done")
	values.Del("count")
	values.Del("top")
	change(values)
	return (&url.URL{Path: c.r.URL.Path, RawQuery: values.Encode()}).String()
}

// part returns the name of the requested part; "" for the whole page.
func (c *call) part() string { return c.param("part") }

// render responds with a page or a part of one.
func (c *call) render(status int, page templ.Component) error {
	c.readFailing()
	var b bytes.Buffer
	b.Grow(32 << 10)
	if err := page.Render(c.r.Context(), &b); err != nil {
		return fmt.Errorf("rendering a page: %w", err)
	}
	body := c.compressed(b.Bytes())
	c.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.Write(body) // the browser may have disconnected
	}
	return nil
}

// compressLeast is the size of a page from which it is compressed.
const compressLeast = 1 << 10

// compressed returns a page as it is sent: compressed, and with the header that says
// so, if the browser accepts that. Pages that may show a secret are not: the size of a
// compressed page tells who sees the traffic whether parameters of their choice are like
// the secret. See decision 29. Event streams don't come through here.
func (c *call) compressed(page []byte) []byte {
	c.Header().Add("Vary", "Accept-Encoding")
	if len(page) < compressLeast || c.showsSecrets() || !staticfile.AcceptsGzip(c.r) {
		return page
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is a valid one
	_, _ = w.Write(page)                            // a buffer takes everything
	_ = w.Close()
	c.Header().Set("Content-Encoding", "gzip")
	return b.Bytes()
}

// showsSecrets reports whether the page may show a key, a token or a credential.
func (c *call) showsSecrets() bool {
	path := c.r.URL.Path
	lists := strings.HasPrefix(path, "/jobs") || strings.HasPrefix(path, "/schedules") || strings.HasPrefix(path, "/logs") ||
		strings.HasPrefix(path, "/attempts") || path == "/find" || path == "/failing"
	public := path == ui.PublicPrefix || strings.HasPrefix(path, ui.PublicPrefix+"/")
	return c.r.Method == http.MethodPost || c.param("reveal") != "" || path != "/" && !lists && !public
}

// text responds with plain text.
func (c *call) text(text string) error {
	c.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = c.Write([]byte(text)) // the browser may have disconnected
	return nil
}

// redirect redirects to another page of the account, as after a form was accepted.
func (c *call) redirect(format string, args ...any) error {
	http.Redirect(c, c.r, c.href(format, args...), http.StatusSeeOther)
	return nil
}

// redirectHere redirects to this page with other parameters.
func (c *call) redirectHere(values url.Values) error {
	http.Redirect(c, c.r, (&url.URL{Path: c.r.URL.Path, RawQuery: values.Encode()}).String(), http.StatusSeeOther)
	return nil
}
