package soak

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// write writes what a run has shown into a directory: figures, and plots.
func (s *soak) write(dir, store string, of []*series, warm int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := os.WriteFile(filepath.Join(dir, store+".md"), []byte(s.figures(store, of, warm)), 0o644)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, store+".svg"), []byte(s.plot(of, warm)), 0o644)
}

// figures returns the figures of a run as Markdown.
func (s *soak) figures(store string, of []*series, warm int) string {
	var text strings.Builder
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.all)
	fmt.Fprintf(&text, "# Soak on %s: %s, %d accounts, %g calls/s\n\n", store, s.lasts, len(s.clients), s.rate)
	fmt.Fprintf(&text, "Lateness of %d requests, far from faults: p50 %s, p99 %s, most %s.\n\n", len(s.all),
		quantile(s.all, 0.5).Round(100*time.Microsecond), quantile(s.all, 0.99).Round(100*time.Microsecond),
		quantile(s.all, 1).Round(100*time.Microsecond))
	fmt.Fprintf(&text, "| after the warm-up | mean | rise of the line | may rise by |\n|---|---|---|---|\n")
	for _, q := range of {
		t, flat := q.flat(warm)
		verdict := q.show(q.allowed(t))
		switch {
		case math.IsInf(q.most, 1):
			verdict = ""
		case q.timed && busy(of, warm):
			verdict += ", not judged: the machine is too busy"
		case !flat:
			verdict += " **exceeded**"
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", q.name, q.show(t.mean), q.show(t.rise), verdict)
	}
	fmt.Fprintf(&text, "\n| what happened | times |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(&text, "| %s | %d |\n", name, s.counts[name])
	}
	for _, v := range s.violations {
		fmt.Fprintf(&text, "\n- %s", v)
	}
	return text.String()
}

// The measures of a plot, in pixels.
const (
	wide, high    = 720, 64 // of a panel
	left, apart   = 12, 34
	plotWide      = wide + 2*left
	markersAtMost = 400
)

// plot draws each series in a panel of its own, from 0, with the warm-up shaded and the
// faults marked below.
func (s *soak) plot(of []*series, warm int) string {
	var svg strings.Builder
	height := len(of)*(high+apart) + apart
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWide,
		height)
	fmt.Fprintf(&svg, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", plotWide, height)
	for i, q := range of {
		s.panel(&svg, q, warm, apart-8+i*(high+apart))
	}
	fmt.Fprintf(&svg, `<text x="%d" y="%d" fill="#555">0 to %s; shaded: warm-up; marks: kills (red) and pauses (grey)</text>`+"\n</svg>\n",
		left, height-12, s.lasts)
	return svg.String()
}

func (s *soak) panel(svg *strings.Builder, q *series, warm, top int) {
	n := len(q.values)
	if n < 2 {
		return
	}
	highest := max(slices.Max(q.values)*1.1, 1)
	x := func(i float64) float64 { return left + wide*i/float64(n-1) }
	y := func(v float64) float64 { return float64(top) + high*(1-v/highest) }
	t, _ := q.flat(warm)
	fmt.Fprintf(svg, `<text x="%d" y="%d" fill="#222">%s: mean %s, rise %s</text>`+"\n", left, top-5, q.name, q.show(t.mean),
		q.show(t.rise))
	fmt.Fprintf(svg, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="#eef"/>`+"\n", left, top, wide*float64(warm)/float64(n-1), high)
	s.do(func() {
		for _, f := range s.faults[:min(len(s.faults), markersAtMost)] {
			at, colour := left+wide*min(1, f.from.Sub(s.began).Seconds()/s.lasts.Seconds()), "#aaa"
			if f.kind == "kills" {
				colour = "#c00"
			}
			fmt.Fprintf(svg, `<path d="M%.1f %d v6" stroke="%s"/>`+"\n", at, top+high-6, colour)
		}
	})
	fmt.Fprintf(svg, `<path d="M%d %d h%d" stroke="#999"/><polyline fill="none" stroke="#06c" points="`, left, top+high, wide)
	for i, v := range q.values {
		fmt.Fprintf(svg, "%.1f,%.1f ", x(float64(i)), y(v))
	}
	fmt.Fprintf(svg, `"/>`+"\n")
	if warm < n {
		fmt.Fprintf(svg, `<path d="M%.1f %.1f L%.1f %.1f" stroke="#d60" stroke-dasharray="4 3"/>`+"\n", x(float64(warm)),
			y(t.mean-t.rise/2), x(float64(n-1)), y(t.mean+t.rise/2))
	}
}
