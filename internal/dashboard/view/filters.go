package view

import (
	"context"
	"net/url"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// Filters are the filters of a list.
type Filters struct {
	Values   url.Values        // as they were entered, by parameter
	Problems map[string]string // by parameter; each completes "LABEL …"
	Chips    []ui.Chip
	Clear    string // the address without filters
}

// Filtered reports whether the list is restricted.
func (f *Filters) Filtered() bool { return len(f.Chips) > 0 }

// Refuse sets the first problem of each parameter.
func (f *Filters) Refuse(problems []fault.Problem) {
	for _, p := range problems {
		if f.Problems[p.Parameter] == "" {
			f.Problems[p.Parameter] = p.Detail
		}
	}
}

// input returns the input of a filter, by the name that it has in the list.
func (f *Filters) input(of *job.Filter, name string) ui.Input {
	return ui.Input{Name: name, Label: of.Label, Value: f.Values.Get(name), Error: f.Problems[name], Placeholder: of.Placeholder,
		Hint: of.Hint}
}

// jobInputs returns the inputs for a list of jobs. The states are its tabs.
func (f *Filters) jobInputs() []ui.Input {
	var all []ui.Input
	for _, of := range job.FiltersOf(job.OfJobs) {
		if of.Chip != "" && (!of.OnlySet || f.Values.Has(of.Name)) {
			all = append(all, f.input(of, of.Name))
		}
	}
	return all
}

// logInputs returns the inputs for a list of logs or attempts: those of times, or the
// others without the event.
func (f *Filters) logInputs(list job.Lists, times bool) []ui.Input {
	var all []ui.Input
	for _, of := range job.FiltersOf(list) {
		if of.Name != "event" && (of.Name == "since" || of.Name == "until") == times {
			all = append(all, f.input(of, of.Short()))
		}
	}
	return all
}

// tagLinks returns the tags in args, with the lists of what else has them.
func tagLinks(ctx context.Context, list string, args job.Labels) []ui.Chip {
	var chips []ui.Chip
	for _, tag := range args.Tags {
		chips = append(chips, ui.Chip{Text: tag, Href: ui.Href(ctx, "%s", list+"?tag="+url.QueryEscape(tag))})
	}
	return chips
}
