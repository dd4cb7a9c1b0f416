package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Report is all that a bench found; it is what --json writes.
type Report struct {
	Punctual  string         `json:"punctual"`
	Go        string         `json:"go"`
	Date      time.Time      `json:"date"`
	Machine   Machine        `json:"machine"`
	Settings  Settings       `json:"settings"`
	Workloads []*WorkloadRow `json:"workloads"`
	Problems  []string       `json:"problems"`
}

// Settings are what the bench was asked to do.
type Settings struct {
	Workloads []string `json:"workloads"`
	Runs      int      `json:"runs"`
	Sizes
	Counts
	Store       string  `json:"store"` // sqlite, postgres or that of a running service
	LeadSeconds float64 `json:"lead_seconds"`
	BodyBytes   int     `json:"body_bytes"`
}

// WorkloadRow is what a workload came to: the medians of its runs, and those.
type WorkloadRow struct {
	Name      string   `json:"name"`
	About     string   `json:"about"`
	Skipped   string   `json:"skipped,omitempty"`
	Figures   []Figure `json:"figures"`
	Latencies []Curve  `json:"latencies"`
	Runs      []Result `json:"runs"`
}

// Result is what one run of a workload came to.
type Result struct {
	Figures   []Figure `json:"figures"`
	Latencies []Curve  `json:"latencies"`
	// Protocol is what the requests of jobs spoke, as in "HTTP/1.1".
	Protocol string   `json:"protocol,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Problems []string `json:"problems,omitempty"`
}

// Figure is one measurement.
type Figure struct {
	Name  string  `json:"name"`
	Label string  `json:"label"`
	Unit  string  `json:"unit"` // "/s", "ms", "s", "µs", "bytes", "MiB" or "" for a count
	Value float64 `json:"value"`
	// Against names the figure it is compared with, as in "ceiling/herd"; Ratio
	// is its part of that, when that was measured.
	Against string  `json:"against,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"`
	// Mark is the target value.
	Mark string `json:"mark,omitempty"`
	// Detail figures are left out of the table.
	Detail bool `json:"detail,omitempty"`
}

// summarise takes the medians of a workload's runs. known holds the medians of
// the figures so far, by workload and name; those of this one are added.
func (w *WorkloadRow) summarise(known map[string]float64) {
	if len(w.Runs) == 0 {
		return
	}
	for i, first := range w.Runs[0].Figures {
		var values []float64
		for _, run := range w.Runs {
			if i < len(run.Figures) && run.Figures[i].Name == first.Name {
				values = append(values, run.Figures[i].Value)
			}
		}
		first.Value = median(values)
		known[w.Name+"/"+first.Name] = first.Value
		if reference := known[first.Against]; reference > 0 {
			first.Ratio = first.Value / reference
		}
		w.Figures = append(w.Figures, first)
	}
	for i, first := range w.Runs[0].Latencies {
		var curves []Curve
		for _, run := range w.Runs {
			if i < len(run.Latencies) && run.Latencies[i].Name == first.Name {
				curves = append(curves, run.Latencies[i])
			}
		}
		w.Latencies = append(w.Latencies, medianCurve(curves))
	}
}

// curves returns the latencies of all workloads, for the plots.
func (r *Report) curves() (all []Curve) {
	for _, w := range r.Workloads {
		all = append(all, w.Latencies...)
	}
	return all
}

// writeJSON writes the report to a file.
func (r *Report) writeJSON(file string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("writing the figures as JSON: %w", err)
	}
	return writeFile("--json", file, text.Bytes())
}

func writeFile(flag, file string, text []byte) error {
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("%s: the file can't be written: %w", flag, err)
	}
	return nil
}
