package edge

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
)

// strictTransport makes browsers use https only, for a year.
const strictTransport = "max-age=31536000"

// unchecked are paths that load balancers and the like request by IP address. Their
// responses contain nothing about accounts.
var unchecked = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// guard refuses requests for a host other than the public URL's, if one is
// configured, to prevent DNS rebinding: otherwise another site could point its name
// here and its pages could use the service as their own origin. Behind a trusted
// proxy it checks the forwarded host. Over https it adds Strict-Transport-Security.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connOf(r.Context()); c != nil {
			c.handled.Store(true)
		}
		asked := forwarded(r, "X-Forwarded-Host")
		if !isHost(asked) {
			asked = ""
		}
		if !unchecked[r.URL.Path] && !(s.knows(r.Host) && (asked == "" || s.knows(asked))) {
			// Further requests on this connection would be for the same host.
			w.Header().Set("Connection", "close")
			s.config.Refuse(w, r, fault.New(fault.Misdirected, "this service is at "+s.gate.policy.PublicURL.String()+"; use that address"))
			return
		}
		if asked != "" && asked != r.Host {
			behind := *r // a copy: the server keeps the original
			behind.Host, r = asked, &behind
		}
		if IsHTTPS(r) && !isLocal(hostname(r.Host)) {
			w.Header().Set("Strict-Transport-Security", strictTransport)
		}
		next.ServeHTTP(w, r)
	})
}

// knows reports whether a host is the service's: the public URL's, with any port, or
// a name of this machine that DNS does not resolve.
func (s *Server) knows(host string) bool {
	public := s.gate.policy.PublicURL
	name := hostname(host)
	return public == nil || strings.EqualFold(name, public.Hostname()) || isLocal(name)
}

// isLocal reports whether a host name is this machine's own.
func isLocal(name string) bool {
	addr, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// isHost reports whether a text has only the characters of a host and port. It is
// written into pages and URLs.
func isHost(text string) bool {
	return text != "" && len(text) <= 255 && strings.Trim(text,
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._:[]") == ""
}
