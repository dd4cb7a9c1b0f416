package view

import (
	"net/url"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

// SignalsShown is how many limits, and how many alerts, the overview names.
const SignalsShown = 4

// Signals are limits that hold jobs back, and alerts that are open.
type Signals struct {
	Limits     []HoldingLimit
	MoreLimits bool
	Alerts     []OpenAlert
	MoreAlerts int
}

// HoldingLimit is a limit that holds due jobs back.
type HoldingLimit struct {
	Key     string
	Paused  bool
	Waiting string // how many jobs
	Since   time.Time
}

func (l *HoldingLimit) path() string { return "/limits/" + url.PathEscape(l.Key) }

// OpenAlert is an alert that has reported failures that last.
type OpenAlert struct {
	Name  string
	Of    []string // the titles of some of the schedules
	Count int      // of all
}

func (a *OpenAlert) path() string { return "/alerts?" + url.Values{"name": {a.Name}}.Encode() }

// words says for which schedules the alert is open: "A, B, 3 more".
func (a *OpenAlert) words() string {
	words := strings.Join(a.Of, ", ")
	if more := a.Count - len(a.Of); more > 0 {
		words += ", " + ui.Count(int64(more)) + " more"
	}
	return words
}
