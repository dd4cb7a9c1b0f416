package main

import (
	"fmt"
	"regexp"
	"strings"
)

// What a clip keeps: the beginning and the end.
const (
	keepFirst = 1 << 20
	keepLast  = 256 << 10
)

// clip keeps output in bounded memory.
type clip struct {
	first   strings.Builder
	last    []byte
	dropped int // bytes between both
}

func (c *clip) add(s string) {
	if n := min(len(s), keepFirst-c.first.Len()); n > 0 {
		c.first.WriteString(s[:n])
		s = s[n:]
	}
	c.last = append(c.last, s...)
	if extra := len(c.last) - keepLast; extra > keepLast {
		c.dropped += extra
		c.last = append(c.last[:0], c.last[extra:]...)
	}
}

func (c *clip) text() string {
	if c.dropped == 0 {
		return c.first.String() + string(c.last)
	}
	return fmt.Sprintf("%s\n[%d bytes are left out]\n%s", c.first.String(), c.dropped, c.last)
}

// framing is what go test prints around the output of a test.
var framing = regexp.MustCompile(`^\s*(=== (RUN|PAUSE|CONT|NAME)\s|--- (FAIL|PASS|SKIP): )`)

// lines returns at most n lines of the output that say what is wrong: the end of what a
// test logged; of a crash its beginning, and the goroutines that are in the
// repository's code.
func (c *clip) lines(n int) []string {
	var kept []string
	for line := range strings.Lines(c.text()) {
		line = strings.TrimRight(line, "\n")
		if !framing.MatchString(line) && (line != "" || len(kept) > 0) {
			kept = append(kept, cutLine(line))
		}
	}
	if i := crashAt(kept); i >= 0 {
		before := kept[max(0, i-3):i]
		return bounded(append(before[:len(before):len(before)], relevant(kept[i:])...), n)
	}
	if len(kept) > n {
		kept = append([]string{fmt.Sprintf("[%d lines before are left out]", len(kept)-n+1)}, kept[len(kept)-n+1:]...)
	}
	return kept
}

func crashAt(lines []string) int {
	for i, line := range lines {
		if crashed.MatchString(line) {
			return i
		}
	}
	return -1
}

// bounded keeps the first n lines.
func bounded(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n-1:n-1], fmt.Sprintf("[%d further lines]", len(lines)-n+1))
}

// cutLine bounds one line.
func cutLine(line string) string {
	const most = 2000
	if len(line) <= most {
		return line
	}
	return line[:most] + fmt.Sprintf(" [%d further bytes]", len(line)-most)
}

// relevant leaves out goroutines that are not in the repository's code, but for the
// first, and shortens the others.
func relevant(lines []string) []string {
	const deep = 16 // lines of a goroutine
	var out []string
	left, goroutines := 0, 0
	for i := 0; i < len(lines); {
		end := i + 1
		if !goroutine.MatchString(lines[i]) {
			out = append(out, lines[i])
			i = end
			continue
		}
		for end < len(lines) && lines[end] != "" && !goroutine.MatchString(lines[end]) {
			end++
		}
		goroutines++
		if block := lines[i:end]; goroutines == 1 || ours(block) {
			out = append(out, bounded(block, deep)...)
			out = append(out, "")
		} else {
			left++
		}
		for end < len(lines) && lines[end] == "" {
			end++
		}
		i = end
	}
	if left > 0 {
		out = append(out, fmt.Sprintf("[%d goroutines outside the repository's code are left out]", left))
	}
	return out
}

var goroutine = regexp.MustCompile(`^goroutine \d+ .*\[.*\]:$`)

func ours(block []string) bool {
	for _, line := range block {
		if strings.HasPrefix(line, module+"/") {
			return true
		}
	}
	return false
}

func indent(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("    " + line + "\n")
	}
	return b.String()
}
