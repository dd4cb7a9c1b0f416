package bench

import (
	"fmt"
	"math"
	"strings"
)

const (
	plotName  = 18 // characters for a name
	plotWidth = 60 // and for its line
)

// scale is a logarithmic axis from a power of ten to another, in milliseconds.
type scale struct{ low, high int } // exponents

// scaleFor takes in all curves' points from the median on; what is lower is
// drawn at its edge.
func scaleFor(curves []Curve) scale {
	s := scale{low: 0, high: 1}
	first := true
	for _, c := range curves {
		if c.Count == 0 {
			continue
		}
		low := int(math.Floor(math.Log10(max(c.at(0.5), 0.01))))
		high := int(math.Ceil(math.Log10(max(c.at(1), 0.1))))
		if first {
			s, first = scale{low, high}, false
		}
		s.low, s.high = min(s.low, low), max(s.high, high)
	}
	s.high = max(s.high, s.low+1)
	return s
}

// part returns where a time lies on the axis, from 0 to 1.
func (s scale) part(ms float64) float64 {
	if ms <= 0 {
		return 0
	}
	return min(1, max(0, (math.Log10(ms)-float64(s.low))/float64(s.high-s.low)))
}

func (s scale) label(exponent int) string { return plain(math.Pow10(exponent)) }

// textPlot draws each curve as a line: where its median lies, and how far the
// times go beyond.
func textPlot(curves []Curve) string {
	if len(curves) == 0 {
		return ""
	}
	s := scaleFor(curves)
	var text strings.Builder
	fmt.Fprintf(&text, "\nLateness in milliseconds: ┃ median  ━ to p90  ─ to p99  · to the longest\n\n%s\n", s.axis())
	for _, c := range curves {
		if c.Count > 0 {
			fmt.Fprintf(&text, "%-*s %s\n", plotName, c.Name, strings.TrimRight(string(s.line(&c)), " "))
		}
	}
	return text.String()
}

func (s scale) column(ms float64) int { return int(math.Round(s.part(ms) * (plotWidth - 1))) }

// axis names the powers of ten.
func (s scale) axis() string {
	line := []byte(strings.Repeat(" ", plotName+1+plotWidth))
	for e := s.low; e <= s.high; e++ {
		label := s.label(e)
		at := plotName + 1 + s.column(math.Pow10(e))
		copy(line[min(at, len(line)-len(label)):], label)
	}
	return strings.TrimRight(string(line), " ")
}

func (s scale) line(c *Curve) []rune {
	line := []rune(strings.Repeat(" ", plotWidth))
	for e := s.low; e <= s.high; e++ {
		line[s.column(math.Pow10(e))] = '┊'
	}
	from := s.column(c.at(0.5))
	for _, to := range []struct {
		quantile float64
		with     rune
	}{{0.9, '━'}, {0.99, '─'}, {1, '·'}} {
		end := s.column(c.at(to.quantile))
		for i := from; i <= end; i++ {
			line[i] = to.with
		}
		from = max(from, end+1)
	}
	line[s.column(c.at(0.5))] = '┃'
	return line
}
