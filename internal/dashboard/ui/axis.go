package ui

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/a-h/templ"
)

// tick is a mark of the time axis.
type tick struct{ at, label string }

// tickSteps are the distances between marks that are read easily.
var tickSteps = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// maxTicks is how many marks an axis has at most.
const maxTicks = 8

// end returns when the last step ends.
func (p Plot) end() time.Time {
	return p.Start.Add(p.Step * time.Duration(len(p.Series[0].Values)))
}

// ticks returns the marks of the time axis: full hours, quarters and the like, by the
// clocks of a zone. There are none where the name of the zone is shown.
func (p Plot) ticks(zone *time.Location) []tick {
	if len(p.Series) == 0 || p.Step <= 0 {
		return nil
	}
	start, end := p.Start.In(zone), p.end()
	total := end.Sub(start)
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if total/s <= maxTicks {
			step = s
			break
		}
	}
	var ticks []tick
	for t := start.Add(-sinceTick(start, step)); t.Before(end); t = nextTick(t, step) {
		share := float64(t.Sub(start)) / float64(total)
		if share < 0.03 || share > 0.9 || sinceTick(t, step) != 0 {
			continue
		}
		layout := "15:04"
		if sinceTick(t, 24*time.Hour) == 0 {
			layout = "2 Jan"
		}
		ticks = append(ticks, tick{at: Percentage(share), label: t.Format(layout)})
	}
	return ticks
}

// wall returns what the clocks of a time's zone show, as a time in UTC.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// sinceTick returns how long before t the clocks of its zone showed a multiple of a step
// since midnight.
func sinceTick(t time.Time, step time.Duration) time.Duration {
	w := wall(t)
	return w.Sub(w.Truncate(step))
}

// nextTick returns the next time after t at which the clocks of its zone show a multiple
// of a step. Where clocks are changed, the distance is longer or shorter.
func nextTick(t time.Time, step time.Duration) time.Time {
	next := t.Add(step)
	since := sinceTick(next, step)
	if since >= (step+1)/2 {
		return next.Add(step - since)
	}
	return next.Add(-since)
}

// zoneChange says what the clocks show from a time on, for the script.
type zoneChange struct {
	From   int64  `json:"from"`   // milliseconds since 1970
	Offset int    `json:"offset"` // seconds east of UTC
	Name   string `json:"name"`
}

// clocks returns the zone of the first step, and where a later step has another.
func (p Plot) clocks(zone *time.Location) (changes []zoneChange) {
	for t := p.Start.In(zone); !t.After(p.end()); t = t.Add(p.Step) {
		name, offset := t.Zone()
		if n := len(changes); n == 0 || changes[n-1].Offset != offset || changes[n-1].Name != name {
			changes = append(changes, zoneChange{t.UnixMilli(), offset, name})
		}
	}
	return changes
}

// Percentage returns a share, from 0 to 1, as a percentage with up to two decimals: "12.5%".
func Percentage(share float64) string {
	return strconv.FormatFloat(math.Round(share*10000)/100, 'f', -1, 64) + "%"
}

// data returns the values of the series for the script, as JSON.
func (p Plot) data() string {
	type series struct {
		Name   string     `json:"name"`
		Values []*float64 `json:"values"`
	}
	all := make([]series, len(p.Series))
	for i, s := range p.Series {
		all[i] = series{s.Name, make([]*float64, len(s.Values))}
		for k, v := range s.Values {
			if !math.IsNaN(v) {
				if !p.Counts {
					v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
				}
				all[i].Values[k] = &v
			}
		}
	}
	return asJSON(all)
}

// attributes returns what the script needs, if the steps are of time.
func (p Plot) attributes(zone *time.Location) templ.Attributes {
	if p.Step <= 0 {
		return nil
	}
	a := templ.Attributes{
		"data-plot": p.data(), "data-title": p.Title,
		"data-start": strconv.FormatInt(p.Start.UnixMilli(), 10), "data-step": strconv.FormatInt(p.Step.Milliseconds(), 10),
		"data-clocks": asJSON(p.clocks(zone)),
	}
	notes := map[int]string{}
	for i, note := range p.Notes {
		if note != "" {
			notes[i] = note
		}
	}
	if len(notes) > 0 {
		a["data-notes"] = asJSON(notes)
	}
	if p.Counts {
		a["data-counts"] = ""
	}
	if p.Zoom != "" {
		a["data-zoom"] = p.Zoom
	}
	if p.Open != "" {
		a["data-open"] = p.Open
	}
	return a
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // there are only numbers and texts
	}
	return string(text)
}
