package edge

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
)

// strictTransport makes browsers use https only, for a year.
const strictTransport = "max-age=31536000"

// unchecked are paths that are asked for by the address of a machine, by load
// balancers and the like. They say nothing about anybody.
var unchecked = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// guard refuses requests for another host than the public URL's, once there is
// one: a page of another site whose name suddenly leads here (DNS rebinding)
// would otherwise speak to the service as if it were its own. It answers to the
// host that a trusted proxy was asked for, and over https it adds
// Strict-Transport-Security.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := forwarded(r, "X-Forwarded-Host")
		if !isHost(asked) {
			asked = ""
		}
		if !unchecked[r.URL.Path] && !(s.knows(r.Host) && (asked == "" || s.knows(asked))) {
			// What else comes over the connection was meant for the same host.
			w.Header().Set("Connection", "close")
			s.config.Refuse(w, r, fault.New(fault.Misdirected, "this service is at "+s.gate.policy.PublicURL.String()+"; call it by that name"))
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

// knows reports whether a host is the service's: the public URL's, whatever the
// port, or this machine by a name that no DNS can lead elsewhere.
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

// isHost reports whether a text is a host and perhaps a port, as far as its
// letters go. It is written into pages and addresses.
func isHost(text string) bool {
	return text != "" && len(text) <= 255 && strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._:[]") == ""
}
