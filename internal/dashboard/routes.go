package dashboard

import "slices"

// access says who may see a page.
type access int

const (
	forAnyone    access = iota // whoever comes
	forMembers                 // the account signed in; under /public, anyone sees the public account's
	forOwners                  // the account signed in only
	forOperators               // the operator only
)

// handler answers a request for a page, or gives the error to show.
type handler func(*Server, *call) error

// route is one address with what it answers, by method.
type route struct {
	path    string // a pattern of http.ServeMux, without method
	access  access
	methods map[string]handler
}

// allRoutes is every address that is answered: one table an area.
func allRoutes() []route {
	return slices.Concat(
		homeRoutes,
		entranceRoutes,
		settingsRoutes,
		sessionRoutes,
		factorRoutes,
		auditRoutes,
		operatorRoutes,
		operatorAccountRoutes,
		welcomeRoutes,
		jobRoutes,
		scheduleRoutes,
		logRoutes,
		liveRoutes,
	)
}
