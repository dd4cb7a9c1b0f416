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

// relevant shortens what a process prints when it crashes: it leaves out registers, the
// goroutines that are not in the repository's code, except one that panicked, and the
// frames of the runtime below the others. Goroutines of tests come first.
func relevant(lines []string) []string {
	var out, tests, others []string
	left, panicked := 0, true
	for len(lines) > 0 {
		if !goroutine.MatchString(lines[0]) {
			if !noise.MatchString(lines[0]) {
				out = append(out, lines[0])
			}
			panicked = panicked && !strings.HasPrefix(lines[0], "SIGQUIT")
			lines = lines[1:]
			continue
		}
		end := 1
		for end < len(lines) && lines[end] != "" && !goroutine.MatchString(lines[end]) {
			end++
		}
		block := frames(lines[:end])
		lines = lines[end:]
		switch {
		case panicked:
			out = append(append(out, block...), "")
			panicked = false
		case !ours(block):
			left++
		case strings.Contains(strings.Join(block, "\n"), "_test.go:"):
			tests = append(append(tests, block...), "")
		default:
			others = append(append(others, block...), "")
		}
		for len(lines) > 0 && lines[0] == "" {
			lines = lines[1:]
		}
	}
	out = append(append(out, tests...), others...)
	if left > 0 {
		out = append(out, fmt.Sprintf("[%d goroutines outside the repository's code are left out]", left))
	}
	return out
}

var (
	goroutine = regexp.MustCompile(`^goroutine \d+ .*\[.*\]:$`)
	noise     = regexp.MustCompile(`^(PC=0x[0-9a-f].*|[a-z0-9]+ +0x[0-9a-f]+|)$`)
	registers = regexp.MustCompile(` (gp|fp|sp|pc|m|mp)=(0x[0-9a-f]+|nil|\d+)`)
	waiting   = regexp.MustCompile(`^(runtime|internal/sync|internal/poll|sync)\.`)
)

// frames shortens the lines of a goroutine: without the frames in which it waits.
func frames(block []string) []string {
	const deep = 12
	kept := []string{registers.ReplaceAllString(block[0], "")}
	rest := block[1:]
	for len(rest) > 2 && waiting.MatchString(rest[0]) {
		rest = rest[2:]
	}
	for _, line := range rest {
		kept = append(kept, registers.ReplaceAllString(line, ""))
	}
	return bounded(kept, deep)
}

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
