package cli

import (
	"bufio"
	"io"
	"strings"
)

// table is rows of cells that are printed in columns. At a terminal it is fitted
// to the width: the columns that may shrink are cut, the widest first.
type table struct {
	columns []column
	rows    [][]string
}

// column is a column of a table.
type column struct {
	title  string
	shrink bool                // may be cut
	paint  func(string) colour // nil for none
}

const (
	columnGap   = 2
	leastColumn = 8 // what is left of a column that is cut, in cells
)

// add appends a row; each cell becomes safe to print.
func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = printable(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// print writes the table.
func (t *table) print(out io.Writer, to terminal) error {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = cells(c.title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], cells(row[i]))
		}
	}
	if to.width > 0 {
		t.shrink(widths, to.width)
	}
	w := bufio.NewWriter(out)
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	t.line(w, terminal{}, titles, widths)
	for _, row := range t.rows {
		t.line(w, to, row, widths)
	}
	return w.Flush()
}

func (t *table) line(w *bufio.Writer, to terminal, row []string, widths []int) {
	last := len(row) - 1
	for last > 0 && row[last] == "" {
		last--
	}
	for i, cell := range row[:last+1] {
		cell = fit(cell, widths[i])
		padding := ""
		if i < last {
			padding = strings.Repeat(" ", widths[i]-cells(cell)+columnGap)
		}
		if paint := t.columns[i].paint; paint != nil {
			cell = to.paint(paint(cell), cell)
		}
		_, _ = w.WriteString(cell + padding)
	}
	_ = w.WriteByte('\n')
}

// shrink makes columns narrower until the table has the width, as far as it can.
func (t *table) shrink(widths []int, most int) {
	total := columnGap * (len(widths) - 1)
	for _, n := range widths {
		total += n
	}
	for ; total > most; total-- {
		widest := -1
		for i, c := range t.columns {
			if c.shrink && widths[i] > leastColumn && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// stateColumn is a column of states in their colours.
func stateColumn(title string) column {
	return column{title: title, paint: func(state string) colour { return stateColours[state] }}
}

// facts are named values, which are printed one a line.
type facts struct {
	to    terminal
	names []string
	texts []string
}

// add appends a fact; without a value it is left out.
func (f *facts) add(name, text string) {
	if text != "" {
		f.painted(name, printable(text))
	}
}

// painted appends a fact whose text is ready to print.
func (f *facts) painted(name, text string) {
	f.names, f.texts = append(f.names, name), append(f.texts, text)
}

// print writes the facts.
func (f *facts) print(out io.Writer) error {
	widest := 0
	for _, name := range f.names {
		widest = max(widest, cells(name))
	}
	w := bufio.NewWriter(out)
	for i, name := range f.names {
		_, _ = w.WriteString(f.to.paint(faint, name) + strings.Repeat(" ", widest-cells(name)+columnGap) + f.texts[i] + "\n")
	}
	return w.Flush()
}
