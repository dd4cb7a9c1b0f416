package dashboard

import (
	"net/http"
	"slices"

	"github.com/punctual-dev/punctual/internal/identity"
)

// audience is who may see a page.
type audience int

const (
	forAnyone    audience = iota // everyone
	forMembers                   // members of the account; under /public, anyone sees the public account's
	forSignedIn                  // members of the account only
	forPersons                   // members of the account, whatever their role: their own credentials
	forAdmins                    // admins of the account
	forOwners                    // owners of the account
	forOperators                 // owners of an operator's account
)

// least returns the least role that a method of a route needs; "" if nobody need be
// signed in. What a page shows and changes beyond that, the packages below decide.
func (r route) least(method string) identity.Role {
	switch r.access {
	case forAnyone:
		return ""
	case forAdmins:
		return identity.RoleAdmin
	case forOwners, forOperators:
		return identity.RoleOwner
	}
	if r.access == forPersons || method == http.MethodGet || readOnly[r.path] {
		return identity.RoleViewer
	}
	return identity.RoleEditor
}

// readOnly has the paths whose forms change nothing of the account.
var readOnly = map[string]bool{"/jobs/preview": true, "/jobs/{job_id}/when/preview": true, preferencesPath: true}

// handler responds to a request for a page, or returns the error to show.
type handler func(*Server, *call) error

// route is a path with its handlers by method.
type route struct {
	path    string // a pattern of http.ServeMux, without method
	access  audience
	methods map[string]handler
}

// allRoutes returns the routes of all areas.
func allRoutes() []route {
	return slices.Concat(
		assetRoutes,
		homeRoutes,
		signInRoutes,
		providerRoutes,
		recoverRoutes,
		settingsRoutes,
		memberRoutes,
		joinRoutes,
		usageRoutes,
		preferenceRoutes,
		secretRoutes,
		alertRoutes,
		consentRoutes,
		limitRoutes,
		groupRoutes,
		sessionRoutes,
		factorRoutes,
		auditRoutes,
		operatorRoutes,
		operatorAccountRoutes,
		welcomeRoutes,
		punctualityRoutes,
		findRoutes,
		failingRoutes,
		jobRoutes,
		operationRoutes,
		runRoutes,
		scheduleRoutes,
		reportRoutes,
		rehearseRoutes,
		editRoutes,
		logRoutes,
		attemptRoutes,
		liveRoutes,
		tryRoutes,
	)
}
