package view

import "github.com/punctual-dev/punctual/internal/dashboard/ui"

// Preferences is the page of how a browser shows pages.
type Preferences struct {
	Zone    string // as entered
	Problem string // what is wrong with it
	Notice  string
}

var themes = []ui.Choice{{Value: "system", Label: "As the system"}, {Value: "light", Label: "Light"}, {Value: "dark", Label: "Dark"}}

var densities = []ui.Choice{{Value: "comfortable", Label: "Comfortable"}, {Value: "compact", Label: "Compact"}}

// densityValue returns the choice of densities that applies.
func densityValue(compact bool) string {
	if compact {
		return "compact"
	}
	return "comfortable"
}
