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

// ticks returns the marks of the time axis: full hours, quarters and the like, in UTC.
func (p Plot) ticks() []tick {
	if len(p.Series) == 0 || p.Step <= 0 {
		return nil
	}
	total := p.Step * time.Duration(len(p.Series[0].Values))
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if total/s <= maxTicks {
			step = s
			break
		}
	}
	start := p.Start.UTC()
	var ticks []tick
	for t := start.Truncate(step); t.Before(start.Add(total)); t = t.Add(step) {
		share := float64(t.Sub(start)) / float64(total)
		if share < 0.03 || share > 0.97 { // the label would not fit
			continue
		}
		layout := "15:04"
		if t.Equal(t.Truncate(24 * time.Hour)) {
			layout = "2 Jan"
		}
		ticks = append(ticks, tick{at: percentage(share), label: t.Format(layout)})
	}
	return ticks
}

func percentage(share float64) string {
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
				rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
				all[i].Values[k] = &rounded
			}
		}
	}
	return asJSON(all)
}

// attributes returns what the script needs, if the steps are of time.
func (p Plot) attributes() templ.Attributes {
	if p.Step <= 0 {
		return nil
	}
	a := templ.Attributes{
		"data-plot": p.data(), "data-title": p.Title, "data-unit": p.Unit,
		"data-start": strconv.FormatInt(p.Start.UnixMilli(), 10), "data-step": strconv.FormatInt(p.Step.Milliseconds(), 10),
	}
	if p.Notes != nil {
		a["data-notes"] = asJSON(p.Notes)
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
