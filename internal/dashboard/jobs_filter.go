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

// filterForm returns the filters of a list as they were entered, with their problems.
func filterForm(list job.Lists, values url.Values, problems []fault.Problem) view.Filters {
	f := view.Filters{Values: url.Values{}, Problems: map[string]string{}}
	for _, one := range job.FiltersOf(list) {
		if len(values[one.Name]) > 0 {
			f.Values.Set(one.Name, strings.Join(values[one.Name], " "))
		}
	}
	f.Refuse(problems)
	return f
}

// chips returns the filters of a list that are set, each with the address without it.
func (c *call) chips(list job.Lists, values url.Values, schedule *job.Schedule) []ui.Chip {
	var chips []ui.Chip
	for _, f := range job.FiltersOf(list) {
		if f.Chip == "" {
			continue
		}
		for i, text := range values[f.Name] {
			without := slices.Delete(slices.Clone(values[f.Name]), i, i+1)
			chip := ui.Chip{Name: f.Chip, Text: text, Href: c.hereWith(func(v url.Values) {
				v.Del("after")
				if v[f.Name] = without; len(without) == 0 {
					v.Del(f.Name)
				}
			})}
			if f.Name == "schedule_id" && schedule != nil {
				chip.Text = view.ScheduleTitle(schedule)
			}
			chips = append(chips, chip)
		}
	}
	return chips
}

// clearFilters returns the address without the filters that have a chip.
func (c *call) clearFilters(list job.Lists) string {
	return c.hereWith(func(v url.Values) {
		v.Del("after")
		v.Del("q")
		for _, f := range job.FiltersOf(list) {
			if f.Chip != "" {
				v.Del(f.Name)
			}
		}
	})
}

// operateAddress returns the address of the form for an operation on the jobs that a
// list shows; "" without filters and if an operation has no such filter.
func (c *call) operateAddress(values url.Values) string {
	filters, others := url.Values{}, values.Has("q")
	for _, f := range job.FiltersOf(job.OfJobs) {
		if f.In&job.OfOperations == 0 {
			others = others || values.Has(f.Name)
		} else if len(values[f.Name]) > 0 {
			filters[f.Name] = values[f.Name]
		}
	}
	if c.viewer.public || len(filters) == 0 || others {
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
