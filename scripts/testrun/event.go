package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of events of the build
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string
}

// run is what is known of the tests. Its methods may be called concurrently.
type run struct {
	out     io.Writer
	log     io.Writer // the whole output of what fails; may be nil
	module  string
	verbose bool
	// usage returns the processor time that the tests of a package took, and whether it
	// is known.
	usage func(name string) (time.Duration, bool)
	// A package may be silent this long: once a test has begun, and before.
	stall, starting time.Duration
	factor          float64        // of the machine, as limits inside tests have it
	present         func() float64 // measures it now
	busyBy          float64        // see busy
	busyAt          time.Time      // when busyBy was measured

	mu        sync.Mutex
	packages  map[string]*pkg
	earlier   []*pkg           // that run again, in a later stage
	builds    map[string]*clip // output of builds, by import path
	failures  []failure
	passed    int
	failed    int
	skipped   int
	took      []timed   // tests that ran on their own
	last      time.Time // event of any package
	heard     time.Time // line printed
	malformed int       // lines that are no events
}

// pkg is a package whose tests run or ran.
type pkg struct {
	name    string
	prefix  string // of the command that repeats a test
	started time.Time
	last    time.Time // event
	begun   bool      // a test has
	ended   bool
	result  string // the line of go test
	elapsed time.Duration
	cpu     time.Duration
	before  time.Duration // what earlier stages took of it
	cached  bool
	stuck   string // why it was ended
	running map[string]*test
	parents map[string]bool // tests that have subtests
	broken  map[string]bool // tests with a subtest that failed
	seeds   map[string]string
	recent  string // the test that ended last
	fails   int
	output  clip // of no test
}

// test is one that runs.
type test struct {
	since  time.Time
	paused bool // it waits for other parallel tests
	output clip
}

// timed is how long something took.
type timed struct {
	name    string
	of      *pkg
	elapsed time.Duration
	cpu     time.Duration // 0 if unknown
}

func newRun(out io.Writer, module string) *run {
	now := time.Now()
	return &run{
		out: out, module: module, packages: map[string]*pkg{}, builds: map[string]*clip{}, last: now, heard: now,
		usage: func(string) (time.Duration, bool) { return 0, false }, stall: 5 * time.Minute, starting: 20 * time.Minute,
		factor: 1, present: pace.Present,
	}
}

// line takes one line of go test.
func (r *run) line(text []byte, prefix string, now time.Time) {
	var e event
	if err := json.Unmarshal(text, &e); err != nil || e.Action == "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.malformed++; len(text) > 0 && r.malformed <= 100 {
			r.printf("%s\n", text)
		}
		return
	}
	r.take(e, prefix, now)
}

// take records an event and prints what it is about.
func (r *run) take(e event, prefix string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = now
	switch e.Action {
	case "build-output":
		r.build(e.ImportPath).add(e.Output)
		return
	case "build-fail":
		r.printf("%s", indent(r.build(e.ImportPath).lines(60)))
		return
	}
	if e.Package == "" {
		return
	}
	p, before := r.packages[e.Package], time.Duration(0)
	if p != nil && p.ended && e.Action == "start" { // another stage runs more of its tests
		before = p.before + p.cpu
		r.earlier = append(r.earlier, p)
		p = nil
	}
	if p == nil {
		p = &pkg{name: e.Package, prefix: prefix, before: before, started: now, running: map[string]*test{}, parents: map[string]bool{},
			broken: map[string]bool{}, seeds: map[string]string{}}
		r.packages[e.Package] = p
	}
	p.last = now
	if e.Test == "" {
		r.ofPackage(p, e, now)
	} else {
		r.ofTest(p, e, now)
	}
}

func (r *run) build(path string) *clip {
	if r.builds[path] == nil {
		r.builds[path] = &clip{}
	}
	return r.builds[path]
}

func (r *run) ofPackage(p *pkg, e event, now time.Time) {
	switch e.Action {
	case "output":
		r.note(p, "", e.Output)
		if strings.HasPrefix(e.Output, "ok  \t") || strings.HasPrefix(e.Output, "FAIL\t") || strings.HasPrefix(e.Output, "?   \t") {
			p.result = strings.TrimRight(e.Output, "\n")
			p.cached = strings.Contains(e.Output, "(cached)")
		} else if e.Output != "PASS\n" && e.Output != "FAIL\n" {
			p.output.add(e.Output)
			if r.verbose {
				r.printf("%s", e.Output)
			}
		}
	case "pass", "skip", "fail":
		r.end(p, e, now)
	}
}

// end closes a package.
func (r *run) end(p *pkg, e event, now time.Time) {
	p.ended, p.elapsed = true, seconds(e.Elapsed)
	if p.elapsed == 0 && !p.cached {
		p.elapsed = now.Sub(p.started)
	}
	if e.Action == "skip" && strings.Contains(p.result, "[no test files]") {
		return // nothing to say of it
	}
	cpu, known := r.usage(p.name)
	cpu -= p.before
	p.cpu = cpu
	if e.Action == "fail" {
		r.failedPackage(p, e, now)
	}
	line := p.result
	if line == "" {
		line = map[string]string{"fail": "FAIL", "pass": "ok  ", "skip": "skip"}[e.Action] +
			fmt.Sprintf("\t%s\t%.3fs", p.name, p.elapsed.Seconds())
	}
	if known && !p.cached {
		line += fmt.Sprintf("\tcpu %.1fs", cpu.Seconds())
	}
	r.printf("%s\n", line)
}

func (r *run) ofTest(p *pkg, e event, now time.Time) {
	t := p.running[e.Test]
	if t == nil {
		t = &test{since: now}
		p.running[e.Test] = t
	}
	p.begun = true
	switch e.Action {
	case "run":
		for above := parentOf(e.Test); above != ""; above = parentOf(above) {
			p.parents[above] = true
		}
	case "pause":
		t.paused = true
	case "cont":
		t.paused, t.since = false, now
	case "output":
		r.note(p, e.Test, e.Output)
		t.output.add(e.Output)
		if r.verbose {
			r.printf("%s", e.Output)
		}
	case "pass", "fail", "skip", "bench":
		delete(p.running, e.Test)
		p.recent = e.Test
		r.ended(p, e, t)
	}
}

// ended counts a test that has ended. One with subtests counts only if it failed by
// itself.
func (r *run) ended(p *pkg, e event, t *test) {
	parent := p.parents[e.Test]
	if !strings.Contains(e.Test, "/") && e.Elapsed > 0 {
		r.took = append(r.took, timed{name: short(p.name, r.module) + " " + e.Test, of: p, elapsed: seconds(e.Elapsed)})
	}
	switch {
	case e.Action == "skip":
		r.skipped++
	case e.Action == "fail":
		for above := parentOf(e.Test); above != ""; above = parentOf(above) {
			p.broken[above] = true
		}
		if !parent || !p.broken[e.Test] {
			r.failed++
			p.fails++
			r.fail(failure{pkg: p.name, test: e.Test, elapsed: seconds(e.Elapsed), command: p.repeat(e.Test), output: &t.output})
		}
	case !parent:
		r.passed++
	}
}

// failedPackage records a package that failed, if none of its tests says why.
func (r *run) failedPackage(p *pkg, e event, now time.Time) {
	f := failure{pkg: p.name, elapsed: p.elapsed, command: p.repeat(""), output: &p.output, title: p.stuck}
	names := p.runningTests()
	switch {
	case e.FailedBuild != "":
		f.title, f.output = "it does not build", r.build(e.FailedBuild)
	case p.stuck != "" || len(names) > 0:
		// The process ended while tests ran. What it printed last was taken for the
		// output of one of them.
		if p.stuck == "" {
			f.title = "the process ended while tests ran"
		}
		var whole clip
		for _, name := range names {
			f.with = append(f.with, fmt.Sprintf("%s (since %s)", name, round(now.Sub(p.running[name].since))))
			if o := &p.running[name].output; crashed.MatchString(o.text()) {
				whole.add(o.text())
			}
		}
		whole.add(p.output.text())
		if recent := p.recent; p.stuck != "" && recent != "" {
			f.with = append(f.with, "ended last: "+recent)
		}
		f.output, f.command = &whole, p.repeatAll(names)
	case p.fails > 0:
		return
	default:
		f.title = "the process failed, none of its tests"
	}
	r.failed++
	r.fail(f)
}

// crashed finds what a process prints when it ends in disorder.
var crashed = regexp.MustCompile(`(?m)^(panic: |fatal error: |SIGQUIT: |SIG[A-Z]+: |WARNING: DATA RACE|\*\*\* Test killed)`)

// runningTests returns the tests that run, without those that wait: for their subtests,
// or for other tests.
func (p *pkg) runningTests() []string {
	var names []string
	for name, t := range p.running {
		if t.paused || p.waitsForSubtests(name) {
			continue
		}
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return p.running[a].since.Compare(p.running[b].since) })
	return names
}

func (p *pkg) waitsForSubtests(name string) bool {
	for other := range p.running {
		if strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

var seed = regexp.MustCompile(`\b(PUNCTUAL_[A-Z0-9_]*SEED)=(\d+)`)

// note remembers a seed that a test printed. Output that did not go through the test's
// log may be taken for that of another test, so the line may name the test first.
func (r *run) note(p *pkg, test, output string) {
	found := seed.FindString(output)
	if found == "" {
		return
	}
	if name, _, ok := strings.Cut(strings.TrimSpace(output), ": "); ok && strings.HasPrefix(name, "Test") && !strings.Contains(name, " ") {
		test = name
	}
	p.seeds[test] = found
}

// parentOf returns the name of the test above. A subtest may have slashes in its own
// name, so there may be no such test.
func parentOf(test string) string {
	if i := strings.LastIndexByte(test, '/'); i > 0 {
		return test[:i]
	}
	return ""
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func round(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(10 * time.Millisecond)
}

// short is the name of a package without the module's.
func short(name, module string) string {
	if rest, ok := strings.CutPrefix(name, module+"/"); ok {
		return rest
	}
	return name
}
