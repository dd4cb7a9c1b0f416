package dashboard

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/broadcast"
	"github.com/punctual-dev/punctual/internal/dashboard/assets"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/eventstream"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/oidc"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/stats"
)

// Config of a Server.
type Config struct {
	Service *service.Service
	People  *auth.People
	Members *auth.Members
	// Provider is where people sign in other than by a password; nil for nowhere.
	Provider   *oidc.Provider
	Auth       *auth.Authenticator
	Secrets    *secret.Vault
	Alerts     *service.Alerts
	Broadcasts *broadcast.Hub
	Events     *eventstream.Hub
	Stats      *stats.Collector
	// Running reports whether jobs are being fired.
	Running func() bool
	Quotas  *quota.Book
	Rates   *edge.Rates
	// Retention is how long final jobs are kept; 0 is forever.
	Retention time.Duration
	// Public is the account of the public key; nil without one.
	Public *identity.Account
	// PublicKey is the public key; "" without one.
	PublicKey string
	Log       *slog.Logger
	Audit     *audit.Log
	Version   string
	// PublicPunctuality shows the page about lateness to everyone.
	PublicPunctuality bool
	// Observe counts a response by route and status; nil counts none.
	Observe func(route, status string)
}

// API handles the requests that are not for a page.
type API interface {
	http.Handler
	// Answers reports whether the API handles the path.
	Answers(r *http.Request) bool
	// ServeSession serves a call that only reads, for a person who is signed in.
	ServeSession(w http.ResponseWriter, r *http.Request, person auth.Caller)
}

// Server handles requests for pages.
type Server struct {
	Config
	mux     *http.ServeMux
	guarded http.Handler // mux behind the protection against forged requests
	api     API          // what Wrap passes other requests on to
	// sessions are the hashed tokens that were valid when last used.
	sessions quota.Known[[32]byte]

	complaints edge.Complaints
}

// New returns a Server.
func New(config Config) *Server {
	s := &Server{Config: config, mux: http.NewServeMux()}
	for _, r := range allRoutes() {
		s.mux.Handle(r.path, s.serve(r, false))
		if r.access == forMembers && config.Public != nil {
			s.mux.Handle(publicPath(r.path), s.serve(r, true))
		}
	}
	s.guarded = s.protect(s.mux)
	return s
}

// publicPath returns the path of the public account's version of a page.
func publicPath(path string) string {
	if path == "/{$}" {
		return ui.PublicPrefix
	}
	return ui.PublicPrefix + path
}

// Wrap returns a handler that serves the pages and passes all other requests on. Call it
// once.
func (s *Server) Wrap(next API) http.Handler {
	s.api = next
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := s.mux.Handler(r)
		switch {
		case strings.HasPrefix(r.URL.Path, assets.Prefix) && readsOnly(r):
			secure(w.Header())
			if !assets.Serve(w, r) {
				next.ServeHTTP(w, r)
			}
		case pattern != "" && isClean(r):
			s.guarded.ServeHTTP(w, r)
		case readsOnly(r) && wantsHTML(r) && !strings.HasPrefix(r.URL.Path, "/api/") && !next.Answers(r):
			s.serve(route{path: "/", access: forAnyone}, false).ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isClean reports whether the mux serves the path itself. It would redirect others,
// such as //jobs. Slashes and dots of a name are escaped, so they change nothing.
func isClean(r *http.Request) bool {
	escaped := r.URL.EscapedPath()
	clean := path.Clean(escaped)
	return clean == escaped || clean != "/" && clean+"/" == escaped
}

func readsOnly(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

func wantsHTML(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

func (s *Server) serve(route route, public bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, release := admission.Hold(r.Context())
		defer release()
		c := &call{ResponseWriter: w, r: r.WithContext(ctx), server: s, id: edge.RequestID(r), status: http.StatusOK}
		header := w.Header()
		secure(header)
		header.Set("X-Request-Id", c.id)
		header.Set("Cache-Control", "no-store")
		defer func() {
			if broken := recover(); broken != nil {
				if broken == http.ErrAbortHandler {
					panic(broken)
				}
				s.Log.Error("showing a page failed", "request", c.id, "route", route.path, "panic", broken, "stack", string(debug.Stack()))
				c.fail(fault.New(fault.Internal, internalMessage))
			}
			if s.Observe != nil {
				s.Observe(route.path, strconv.Itoa(c.status))
			}
		}()
		if err := s.handle(route, public, c); err != nil {
			c.fail(err)
		}
	})
}

// errNoPage is the answer for a page that does not exist, or not with these settings.
var errNoPage = fault.New(fault.NotFound, "There is no page at this address.")

func (s *Server) handle(route route, public bool, c *call) error {
	if err := s.admit(route, public, c); err != nil {
		return err
	}
	if len(route.methods) == 0 {
		return errNoPage
	}
	method := c.method()
	h := route.methods[method]
	if h == nil {
		c.Header().Set("Allow", edge.Allow(maps.Keys(route.methods)))
		return fault.New(fault.MethodNotAllowed, "This address does not accept "+c.r.Method+" requests.")
	}
	if refused, err := s.refuse(route, c); refused {
		return err
	}
	if method == http.MethodPost {
		if err := c.readForm(route.access); err != nil {
			return err
		}
	}
	return h(s, c)
}

// refuse responds to requests for pages that the viewer may not see.
func (s *Server) refuse(route route, c *call) (refused bool, err error) {
	needed := route.access
	switch {
	case needed == forAnyone, route.path == punctualityPath && s.PublicPunctuality:
		return false, nil
	case c.viewer == nil:
		return true, s.askToSignIn(c)
	case needed != forMembers && c.viewer.public, needed == forOperators && !c.viewer.operator:
		return true, errNoPage
	}
	if err := access.Need(c.r.Context(), route.least(c.method())); err != nil {
		return true, fault.New(fault.Forbidden, ui.Sentence(err.Error()))
	}
	return false, nil
}

// maxForm is the maximum size of a form: a job's body of 1 MiB, encoded.
// maxOpenForm is the maximum without a session: an email, a password and codes.
const (
	maxForm     = 2 << 20
	maxOpenForm = 16 << 10
)

// readForm reads a posted form. It refuses a form whose declared length is too
// large without reading it.
func (c *call) readForm(needed audience) error {
	most, words := int64(maxForm), "2 MiB"
	if needed == forAnyone {
		most, words = maxOpenForm, "16 KiB"
	}
	tooLarge := fault.New(fault.TooLarge, "The form is larger than "+words+" or malformed.")
	if c.r.ContentLength > most {
		c.Header().Set("Connection", "close")
		return tooLarge
	}
	c.r.Body = http.MaxBytesReader(c.ResponseWriter, c.r.Body, most)
	err := c.r.ParseForm()
	var f *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return f
	}
	return tooLarge
}
