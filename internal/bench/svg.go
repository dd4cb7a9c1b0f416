package bench

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The picture's measures, in pixels.
const (
	svgWidth, svgHeight            = 860, 480
	svgLeft, svgRight              = 70, 220
	svgTop, svgBottom              = 70, 50
	svgPlotWidth                   = svgWidth - svgLeft - svgRight
	svgPlotHeight                  = svgHeight - svgTop - svgBottom
	svgLegendStep, svgLegendIndent = 20, 24
)

// svgColors distinguish curves, also for most people with colour blindness.
var svgColors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#8c564b", "#17becf", "#7f3fbf"}

// tailPart returns where a quantile lies across: each further nine takes as much
// room, since what matters of lateness is its end.
func tailPart(q float64) float64 {
	const nines = 4.3 // where the longest stands
	if q >= 1 {
		return 1
	}
	return min(1, -math.Log10(1-q)/nines)
}

var svgQuantiles = []struct {
	quantile float64
	label    string
}{{0, "0"}, {0.5, "50"}, {0.9, "90"}, {0.99, "99"}, {0.999, "99.9"}, {0.9999, "99.99"}, {1, "all"}}

// svgPlot draws the curves over their percentiles.
func svgPlot(r *Report) string {
	curves := r.curves()
	s := scaleFor(curves)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12" fill="#333">
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="%d" y="28" font-size="16">Lateness of punctual %s</text>
<text x="%d" y="48" fill="#666">%s, %s</text>
`, svgWidth, svgHeight, svgWidth, svgHeight, svgLeft, html.EscapeString(r.Punctual), svgLeft,
		html.EscapeString(r.Machine.String()), r.Date.Format("2006-01-02"))
	svgAxes(&b, s)
	drawn := 0
	for _, c := range curves {
		if c.Count > 0 {
			svgCurve(&b, s, &c, drawn)
			drawn++
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func svgX(q float64) float64           { return svgLeft + tailPart(q)*svgPlotWidth }
func svgY(s scale, ms float64) float64 { return svgTop + (1-s.part(ms))*svgPlotHeight }

func svgAxes(b *strings.Builder, s scale) {
	for e := s.low; e <= s.high; e++ {
		y := svgY(s, math.Pow10(e))
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s ms</text>`+"\n",
			svgLeft, y, svgLeft+svgPlotWidth, svgLeft-8, y+4, s.label(e))
	}
	for _, q := range svgQuantiles {
		x := svgX(q.quantile)
		fmt.Fprintf(b, `<path d="M%.1f %dV%d" stroke="#eee"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x, svgTop, svgTop+svgPlotHeight, x, svgTop+svgPlotHeight+18, q.label)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#666">per cent of the jobs were no later</text>`+"\n",
		svgLeft+svgPlotWidth/2, svgTop+svgPlotHeight+38)
}

// svgCurve draws a curve and its line in the legend. What a quantile of so few
// is not known from so few jobs is left out.
func svgCurve(b *strings.Builder, s scale, c *Curve, i int) {
	color := svgColors[i%len(svgColors)]
	dash := ""
	if i >= len(svgColors) {
		dash = ` stroke-dasharray="5 3"`
	}
	var path []string
	for _, p := range c.Points {
		if p.Quantile == 1 || p.Quantile == 0 || (1-p.Quantile)*float64(c.Count) >= 1 {
			path = append(path, fmt.Sprintf("%.1f %.1f", svgX(p.Quantile), svgY(s, p.MS)))
		}
	}
	fmt.Fprintf(b, `<path d="M%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.Join(path, "L"), color, dash)
	x, y := svgLeft+svgPlotWidth+16, svgTop+8+i*svgLegendStep
	fmt.Fprintf(b, `<path d="M%d %dh16" stroke="%s" stroke-width="2"%s/><text x="%d" y="%d">%s</text>`+"\n",
		x, y, color, dash, x+svgLegendIndent, y+4, html.EscapeString(c.Name))
}
