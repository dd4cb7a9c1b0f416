package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"time"
	"unicode/utf8"
)

// The picture's measures, in pixels. A letter's width is fixed by textLength.
const (
	letter  = 8.4
	row     = 20
	margin  = 16
	bar     = 32
	hold    = 6 * time.Second // how long the end stands still
	columns = 72              // at least
)

// draw writes an SVG that shows the lines one after the other, and again and again.
// Where animations are not wanted, it shows all of them.
func draw(w io.Writer, command string, lines []line) error {
	wide, last := columns, time.Duration(0)
	for _, l := range lines {
		wide, last = max(wide, utf8.RuneCountInString(l.text)), l.at
	}
	width, height := 2*margin+float64(wide)*letter, bar+margin+row*(len(lines)+1)+margin
	total := last + hold
	b := bufio.NewWriter(w) // keeps the first error for Flush
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img" aria-label="punctual demo in a terminal">`+"\n", width, height, width, height)
	fmt.Fprintf(b, "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d6deeb;white-space:pre}.p{fill:#7fdbca}\n@media (prefers-reduced-motion:no-preference){.l{animation:%.1fs step-end infinite}\n", total.Seconds())
	for i, l := range lines {
		fmt.Fprintf(b, "#l%d{animation-name:a%d}@keyframes a%d{0%%{opacity:0}%.2f%%{opacity:1}}\n", i, i, i,
			max(0.01, 100*l.at.Seconds()/total.Seconds()))
	}
	fmt.Fprintf(b, "}</style>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#0b1622\"/>\n")
	for i, colour := range []string{"#ff5f56", "#ffbd2e", "#27c93f"} {
		fmt.Fprintf(b, "<circle cx=\"%d\" cy=\"18\" r=\"6\" fill=\"%s\"/>\n", margin+6+20*i, colour)
	}
	y := bar + margin
	text(b, `class="p"`, command, y)
	for i, l := range lines {
		y += row
		if l.text != "" {
			text(b, fmt.Sprintf(`class="l" id="l%d"`, i), l.text, y)
		}
	}
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

// text writes a line of the terminal. Its length is fixed, whatever the font.
func text(w io.Writer, attributes, s string, y int) {
	fmt.Fprintf(w, "<text %s x=\"%d\" y=\"%d\" xml:space=\"preserve\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\">%s</text>\n",
		attributes, margin, y, float64(utf8.RuneCountInString(s))*letter, html.EscapeString(s))
}
