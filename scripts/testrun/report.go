package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// failure is a test, or a package, that failed.
type failure struct {
	pkg, test string
	title     string   // if no test says what is wrong
	with      []string // what ran
	elapsed   time.Duration
	command   string // that repeats it
	output    *clip
}

func (f *failure) name() string {
	if f.test == "" {
		return f.pkg
	}
	return f.pkg + " " + f.test
}

// What is printed of failures: at once, and at the end, where the first must be on one
// screen.
const (
	linesAtOnce = 60
	linesAtEnd  = 8
	shownAtEnd  = 5
	namedAtEnd  = 20
	dearest     = 20
)

// fail records a failure and prints it.
func (r *run) fail(f failure) {
	r.printf("--- FAIL: %s (%s)\n", f.name(), round(f.elapsed))
	if f.title != "" {
		r.printf("    %s\n", f.title)
	}
	r.printf("%s%s    to repeat it: %s\n", indent(bounded(f.with, 20)), indent(f.output.lines(linesAtOnce)), f.command)
	if r.log != nil {
		// The log is a help; the run does not depend on it.
		_, _ = fmt.Fprintf(r.log, "--- FAIL: %s\n%s\n%s\n", f.name(), strings.Join(append([]string{f.title}, f.with...), "\n"),
			f.output.text())
	}
	summary := &clip{} // the rest is not needed any more
	summary.add(strings.Join(f.output.lines(linesAtEnd), "\n"))
	f.output = summary
	r.failures = append(r.failures, f)
}

func (r *run) printf(format string, args ...any) {
	r.heard = time.Now()
	_, _ = fmt.Fprintf(r.out, format, args...) // nobody is left to tell
}

// repeat returns the command that repeats one test of a package, or all of them.
func (p *pkg) repeat(test string) string {
	command := p.prefix
	if test != "" {
		var parts []string
		for part := range strings.SplitSeq(test, "/") {
			parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
		}
		command += " -run " + quote(strings.Join(parts, "/"))
	}
	return p.seedOf(test) + command + " ./" + short(p.name, module) + " -count=1"
}

// repeatAll returns the command that repeats the tests that ran together.
func (p *pkg) repeatAll(tests []string) string {
	if len(tests) == 0 || len(tests) > 12 {
		return p.repeat("")
	}
	if len(tests) == 1 {
		return p.repeat(tests[0])
	}
	var tops []string
	for _, name := range tests {
		top, _, _ := strings.Cut(name, "/")
		if top = regexp.QuoteMeta(top); !slices.Contains(tops, top) {
			tops = append(tops, top)
		}
	}
	return p.prefix + " -run " + quote("^("+strings.Join(tops, "|")+")$") + " ./" + short(p.name, module) + " -count=1"
}

// seedOf returns the assignment that gives a test the seed that it, or a test above
// or below it, has printed.
func (p *pkg) seedOf(test string) string {
	if test == "" {
		return ""
	}
	for name := test; name != ""; name = parentOf(name) {
		if s := p.seeds[name]; s != "" {
			return s + " "
		}
	}
	for name, s := range p.seeds {
		if strings.HasPrefix(name, test+"/") {
			return s + " "
		}
	}
	return ""
}

var plainWord = regexp.MustCompile(`^[-+=:,./@%\w]+$`)

// quote quotes a word for a shell.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// finish prints what was dear and what failed. A package that has not ended counts as
// failed unless the run was interrupted.
func (r *run) finish(interrupted bool) (ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.unended() {
		if !interrupted {
			p.stuck = cmp.Or(p.stuck, "go test ended before it")
			r.end(p, event{Action: "fail"}, time.Now())
			continue
		}
		r.printf("interrupted: %s%s\n", p.name, prefixed(": ", p.describe(time.Now())))
	}
	r.printDearest()
	r.printFailures()
	if interrupted {
		r.printf("the tests were interrupted: what follows is not the whole\n")
	}
	if len(r.packages) > 1 {
		r.printf("\n")
	}
	r.printf("%d passed, %d failed", r.passed, r.failed)
	if r.skipped > 0 {
		r.printf(", %d skipped", r.skipped)
	}
	r.printf("\n")
	return r.failed == 0
}

// unended returns the packages under way, by name.
func (r *run) unended() []*pkg {
	var found []*pkg
	for _, p := range r.packages {
		if !p.ended {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *pkg) int { return strings.Compare(a.name, b.name) })
	return found
}

// describe says what a package is at.
func (p *pkg) describe(now time.Time) string {
	names := p.runningTests()
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%s)", name, round(now.Sub(p.running[name].since)))
	}
	if extra := len(names) - 4; extra > 1 {
		names = append(names[:4], fmt.Sprintf("and %d others", extra))
	}
	return strings.Join(names, ", ")
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func (r *run) printDearest() {
	var packages []timed
	for _, p := range slices.AppendSeq(slices.Clone(r.earlier), maps.Values(r.packages)) {
		if p.elapsed > 0 && !p.cached {
			packages = append(packages, timed{short(p.name, r.module), p, p.elapsed, p.cpu})
		}
	}
	if len(packages) < 2 {
		return
	}
	slices.SortFunc(packages, func(a, b timed) int { return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.elapsed, a.elapsed)) })
	r.printf("\nthe dearest packages\n%9s %9s\n", "time", "cpu")
	for _, p := range packages[:min(dearest, len(packages))] {
		cpu := ""
		if p.cpu > 0 {
			cpu = fmt.Sprintf("%.1fs", p.cpu.Seconds())
		}
		r.printf("%8.1fs %9s  %s\n", p.elapsed.Seconds(), cpu, p.name)
	}
	tests := slices.DeleteFunc(slices.Clone(r.took), func(t timed) bool { return t.of.cached || t.elapsed < 100*time.Millisecond })
	slices.SortFunc(tests, func(a, b timed) int { return cmp.Compare(b.elapsed, a.elapsed) })
	if len(tests) > 0 {
		r.printf("\nthe longest tests\n")
	}
	for _, t := range tests[:min(dearest, len(tests))] {
		r.printf("%8.1fs  %s\n", t.elapsed.Seconds(), t.name)
	}
}

func (r *run) printFailures() {
	if len(r.failures) == 0 {
		return
	}
	r.printf("\n")
	for i, f := range r.failures[:min(namedAtEnd, len(r.failures))] {
		r.printf("--- FAIL: %s%s\n", f.name(), prefixed(": ", f.title))
		if i < shownAtEnd {
			r.printf("%s", indent(bounded(f.with, 4)))
			r.printf("%s", indent(f.output.lines(linesAtEnd)))
		}
		r.printf("    %s\n", f.command)
	}
	if more := len(r.failures) - namedAtEnd; more > 0 {
		r.printf("and %d further failures\n", more)
	}
	if r.log != nil {
		r.printf("the whole output of what failed is in bin/test-failures.log\n")
	}
}

// say prints a remark.
func (r *run) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.printf(format+"\n", args...)
}

// broken records that go test itself failed.
func (r *run) broken(s stage, title, messages string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	var output clip
	output.add(messages)
	r.fail(failure{pkg: "go test", title: title, output: &output, command: s.prefix + " ./..."})
}

func (r *run) failedSoFar() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *run) allEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.unended()) == 0
}

func (r *run) hasEnded(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.packages[name] == nil || r.packages[name].ended
}
