package ui

import (
	"math"
	"strconv"
	"strings"
)

// The sample of an empty page: this many columns, of which the last are planned and some
// have failures.
const (
	sampleColumns = 64
	samplePast    = 46
)

// sampleFailures are the depths of what fails in a sample, by column.
var sampleFailures = map[int]float64{29: 9, 30: 14, 31: 6}

// samplePaths returns the columns of a sample ribbon, drawn as those of a Ribbon.
func samplePaths() (ran, planned, failed string) {
	var paths [3]strings.Builder
	column := func(path *strings.Builder, i int, end float64) {
		line := coordinate(ribbonLine)
		path.WriteString("M" + strconv.Itoa(i) + " " + line + "V" + coordinate(end) + "h" + columnUnits + "V" + line + "z")
	}
	for i := range sampleColumns {
		height := 34 + 16*math.Sin(float64(i)/5) + 9*math.Sin(float64(i)*1.7)
		path := &paths[0]
		if i >= samplePast {
			path = &paths[1]
		}
		column(path, i, ribbonLine-height)
		if depth := sampleFailures[i]; depth > 0 {
			column(&paths[2], i, ribbonLine+depth)
		}
	}
	return paths[0].String(), paths[1].String(), paths[2].String()
}
