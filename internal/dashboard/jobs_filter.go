package dashboard

import (
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// maxFilters is the maximum length of an address's parameters in bytes. Every link
// of the page contains them.
const maxFilters = 1500

// filterLabels are the names of the filters on the page, in the order of their chips.
var filterLabels = []struct{ parameter, label string }{
	{"tag", "tag"}, {"host", "host"}, {"name", "name"}, {"schedule_id", "schedule"}, {"idempotency_key", "key"}, {"since", "created from"}, {"until", "created before"},
}

// tidy returns the parameters of an address as the API takes them, and whether they
// differ from the given ones: forms send empty fields, and several tags as one text.
func tidy(given url.Values) (values url.Values, changed bool) {
	values = url.Values{}
	for name, texts := range given {
		kept := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.TrimSpace(text) == "" })
		if name == "tag" {
			kept = splitTags(kept)
		}
		if len(kept) > 0 {
			values[name] = kept
		}
		changed = changed || !slices.Equal(kept, texts)
	}
	return values, changed
}

// splitTags returns the tags in texts that separate them with commas or spaces.
func splitTags(texts []string) []string {
	var tags []string
	for _, text := range texts {
		tags = append(tags, words(text)...)
	}
	return tags
}

// filterForm returns the filters as they were entered, with their problems.
func filterForm(values url.Values, problems []fault.Problem) view.Filters {
	f := view.Filters{Values: url.Values{}, Problems: map[string]string{}}
	for _, l := range filterLabels {
		if len(values[l.parameter]) > 0 {
			f.Values.Set(l.parameter, strings.Join(values[l.parameter], " "))
		}
	}
	for _, p := range problems {
		if f.Problems[p.Parameter] == "" {
			f.Problems[p.Parameter] = p.Detail
		}
	}
	return f
}

// chips returns the filters that are set, each with the address without it.
func (c *call) chips(values url.Values, schedule *job.Schedule) []ui.Chip {
	var chips []ui.Chip
	for _, l := range filterLabels {
		for i, text := range values[l.parameter] {
			without := slices.Delete(slices.Clone(values[l.parameter]), i, i+1)
			chip := ui.Chip{Name: l.label, Text: text, Href: c.hereWith(func(v url.Values) {
				v.Del("after")
				if v[l.parameter] = without; len(without) == 0 {
					v.Del(l.parameter)
				}
			})}
			if l.parameter == "schedule_id" && schedule != nil {
				chip.Text = view.ScheduleTitle(schedule)
			}
			chips = append(chips, chip)
		}
	}
	return chips
}

// clearFilters returns the address without filters.
func (c *call) clearFilters() string {
	return c.hereWith(func(v url.Values) {
		v.Del("after")
		v.Del("q")
		for _, l := range filterLabels {
			v.Del(l.parameter)
		}
	})
}

// operateAddress returns the address of the form for an operation on the jobs that a
// list shows; "" without filters and if an operation has no such filter.
func (c *call) operateAddress(values url.Values) string {
	filters := url.Values{}
	for _, name := range view.OperationFilters {
		if len(values[name]) > 0 {
			filters[name] = values[name]
		}
	}
	if c.viewer.public || len(filters) == 0 || values.Has("q") || values.Has("idempotency_key") {
		return ""
	}
	return "/operations/new?" + filters.Encode()
}

// filterSchedule returns the schedule that a filter names, for its title; nil if
// there is none.
func (s *Server) filterSchedule(c *call, id uuid.UUID) (*job.Schedule, error) {
	if id == uuid.Nil {
		return nil, nil
	}
	found, err := s.Service.Schedule(c.r.Context(), c.owner(), id)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	return found, err
}
