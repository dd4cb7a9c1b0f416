package view

import (
	"net/url"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// Limits is the page of an account's limits for receivers.
type Limits struct {
	Limits      []Limit // by key
	First, Next string
	Notice      string
	Form        Refusal // what the form for a limit shows
}

// Limit is a limit for receivers.
type Limit struct {
	Key, Words string
	Paused     bool
	Waiting    string // how many due jobs wait for it, and since when; "" if none do
}

// LimitUse is the page of a limit, with its current use.
type LimitUse struct {
	Limit
	Waiting, InFlight string
	NextAt            time.Time  // zero if unknown
	First             int64      // the first job that waits in an ordered limit; 0 if there is none
	WaitingFor        string     // what holds it back
	Jobs              []*job.Job // the first that are unfinished and name the limit
	MoreJobs          bool
	Self              string // the address of the live part
	Notice            string
}

// path returns the address of the limit, or of something below it.
func (l *Limit) path(below string) string { return "/limits/" + url.PathEscape(l.Key) + below }

// input returns an input of the form.
func (d *Limits) input(name, label, pointer, hint string) ui.Input {
	return ui.Input{Name: name, Label: label, Hint: hint, Value: d.Form.entered("limit", name), Error: d.Form.at("limit", pointer)}
}
