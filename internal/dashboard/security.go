package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/fault"
)

// contentPolicy allows a page to load only what this service serves, forbids inline
// scripts and styles, and forbids framing.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func secure(header http.Header) {
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
}

// protect refuses requests from other sites that change something.
func (s *Server) protect(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(s.serve(route{path: "/", access: forAnyone, methods: map[string]handler{
		http.MethodPost: forged, http.MethodPut: forged, http.MethodPatch: forged, http.MethodDelete: forged,
	}}, false))
	return protection.Handler(next)
}

func forged(*Server, *call) error {
	return fault.New(fault.Forbidden, "The request came from another site and was refused. Open the page here and try again.")
}
