package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// rowFormat holds the columns; lines stay within 80 characters.
const rowFormat = "%-8s  %-30s  %10s  %-15s  %s"

func tableLine(workload, label, value, compared, mark string) string {
	return strings.TrimRight(fmt.Sprintf(rowFormat, workload, label, value, compared, mark), " ") + "\n"
}

// heading says what is about to be measured, and on what.
func heading(r *Report) string {
	s := r.Settings
	store := s.Store
	if r.Machine.Filesystem != "" && store == "sqlite" {
		store += " on " + r.Machine.Filesystem
	}
	text := fmt.Sprintf("punctual bench: %s, %s\n%s\nstore: %s; a herd is %s jobs, steady is %s a second for %s s", r.Punctual, r.Go,
		r.Machine, store,
		thousands(s.Jobs), plain(s.Rate), plain(s.Seconds))
	if s.Runs > 1 {
		text += fmt.Sprintf("; medians of %d runs", s.Runs)
	}
	text += "\n"
	for _, note := range r.Machine.warnings() {
		text += note + "\n"
	}
	return text + "\n"
}

func tableHead() string {
	return tableLine("workload", "figure", "value", "compared", "mark")
}

// tableRows returns the lines of a workload.
func tableRows(w *WorkloadRow) string {
	var text strings.Builder
	name := w.Name
	line := func(label, value, compared, mark string) {
		text.WriteString(tableLine(name, label, value, compared, mark))
		name = "" // once is enough
	}
	for _, f := range w.Figures {
		if f.Detail {
			continue
		}
		compared := ""
		if f.Ratio > 0 {
			compared = fmt.Sprintf("%.2f × %s", f.Ratio, reference(w.Name, f.Against))
		}
		line(f.Label, formatValue(f.Value, f.Unit), compared, f.Mark)
	}
	if w.Skipped != "" {
		line("skipped: "+w.Skipped, "", "", "")
	}
	for _, run := range w.Runs {
		for _, p := range run.Problems {
			line("NOT AS PROMISED: "+p, "", "", "")
		}
	}
	return text.String()
}

// reference names what a figure is held against, as in "ceiling/herd": another
// workload, or another figure of its own.
func reference(workload, against string) string {
	other, figure, _ := strings.Cut(against, "/")
	if other != workload {
		return other
	}
	if figure == "list_all" {
		return "first"
	}
	first, _, _ := strings.Cut(figure, "_")
	return first
}

// afterword says what the columns mean.
func afterword(r *Report) string {
	var text strings.Builder
	text.WriteString(`
"compared" is the figure as a multiple of the same one of another workload; the
ceiling is a bare HTTP client, or a bare handler, without any store. "mark" is
what this project aims at, for figure or multiple, with all on two processors.
`)
	text.WriteString(protocols(r))
	for _, w := range r.Workloads {
		for _, run := range w.Runs {
			for _, note := range run.Notes {
				fmt.Fprintf(&text, "%s: %s.\n", w.Name, note)
			}
		}
	}
	if len(r.Problems) == 0 {
		text.WriteString("Every job arrived, none early, and none twice unless a crash had cut it off.\n")
	}
	return text.String()
}

// protocols says what the requests of jobs spoke: for each workload, unless it
// was the same for all.
func protocols(r *Report) string {
	var each []string
	seen := map[string]bool{}
	last := ""
	for _, w := range r.Workloads {
		for _, run := range w.Runs[:min(1, len(w.Runs))] {
			if run.Protocol != "" {
				last, seen[run.Protocol] = run.Protocol, true
				each = append(each, w.Name+" "+run.Protocol)
			}
		}
	}
	switch len(seen) {
	case 0:
		return ""
	case 1:
		return "All requests to targets spoke " + last + ".\n"
	}
	return "Requests to targets spoke: " + strings.Join(each, ", ") + ".\n"
}

func formatValue(v float64, unit string) string {
	switch unit {
	case "/s":
		if v < 100 {
			return fmt.Sprintf("%.1f/s", v)
		}
		return thousands(int(v+0.5)) + "/s"
	case "x":
		return fmt.Sprintf("%.2f x", v)
	case "":
		return thousands(int(v + 0.5))
	case "bytes", "MiB":
		return thousands(int(v+0.5)) + " " + unit
	}
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f %s", v, unit)
	case v < 100:
		return fmt.Sprintf("%.1f %s", v, unit)
	default:
		return thousands(int(v+0.5)) + " " + unit
	}
}

// thousands writes a number with commas.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	from := len(digits) % 3
	if n < 0 {
		from = (len(digits)-1)%3 + 1
	}
	text := digits[:from]
	for i := from; i < len(digits); i += 3 {
		if text != "" && text != "-" {
			text += ","
		}
		text += digits[i : i+3]
	}
	return text
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
