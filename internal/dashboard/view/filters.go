package view

import (
	"context"
	"net/url"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
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

// filter returns the input of a filter.
func (f *Filters) filter(name, label, placeholder, hint string) ui.Input {
	return ui.Input{Name: name, Label: label, Value: f.Values.Get(name), Error: f.Problems[name], Placeholder: placeholder, Hint: hint}
}

// tagLinks returns the tags in args, with the lists of what else has them.
func tagLinks(ctx context.Context, list string, args job.Labels) []ui.Chip {
	var chips []ui.Chip
	for _, tag := range args.Tags {
		chips = append(chips, ui.Chip{Text: tag, Href: ui.Href(ctx, "%s", list+"?tag="+url.QueryEscape(tag))})
	}
	return chips
}
