package dashboard

import "slices"

// access is who may see a page.
type access int

const (
	forAnyone    access = iota // everyone
	forMembers                 // the account signed in; under /public, anyone sees the public account's
	forOwners                  // the account signed in only
	forOperators               // operators only
)

// handler responds to a request for a page, or returns the error to show.
type handler func(*Server, *call) error

// route is a path with its handlers by method.
type route struct {
	path    string // a pattern of http.ServeMux, without method
	access  access
	methods map[string]handler
}

// allRoutes returns the routes of all areas.
func allRoutes() []route {
	return slices.Concat(
		assetRoutes,
		homeRoutes,
		signInRoutes,
		settingsRoutes,
		usageRoutes,
		preferenceRoutes,
		secretRoutes,
		alertRoutes,
		consentRoutes,
		limitRoutes,
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
		scheduleRoutes,
		rehearseRoutes,
		editRoutes,
		logRoutes,
		attemptRoutes,
		liveRoutes,
	)
}
