package view

import (
	"net/url"
	"time"
)

// SignalsShown is how many limits the overview names.
const SignalsShown = 4

// Signals are limits that hold jobs back.
type Signals struct {
	Limits     []HoldingLimit
	MoreLimits bool
}

// HoldingLimit is a limit that holds due jobs back.
type HoldingLimit struct {
	Key     string
	Paused  bool
	Waiting string // how many jobs
	Since   time.Time
}

func (l *HoldingLimit) path() string { return "/limits/" + url.PathEscape(l.Key) }
