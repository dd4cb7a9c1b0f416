// Command testrun runs the tests of this repository, for scripts/test and
// scripts/test-quick. It reads the events of `go test -json`, prints each package when
// it has ended and each failure when it happens, and at the end what was dear, what
// failed, and the commands that repeat just that.
//
// There is no limit on the total time, which a slow machine would break. A package whose
// tests are silent for five minutes is ended and fails, with its goroutines printed.
//
//	testrun [-plan=all|-plan=quick|-plan=race] [go test arguments]
//
// Without a plan, the arguments select the tests. `testrun -wrap PROGRAM ARGUMENTS` is
// what `go test -exec` calls: it runs one test program; see wrap.go.
//
// # Environment
//
//   - PUNCTUAL_TEST_STALL: how long a package may be silent, instead of 5m times the
//     factor of test/pace, which counts as 4 at the most.
//   - PUNCTUAL_TEST_PACE: that factor, instead of measuring it.
package main

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "-wrap" {
		os.Exit(wrap(os.Args[2:]))
	}
	// From here on a signal ends the tests, whose files are then removed.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	plan, args := takePlan(os.Args[1:])
	status, err := testrun(plan, args, signals)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		status = cmp.Or(status, 1)
	}
	os.Exit(status)
}

// takePlan separates the name of a plan from the arguments for go test.
func takePlan(args []string) (plan string, rest []string) {
	if len(args) == 0 {
		return "", nil
	}
	if name, ok := strings.CutPrefix(args[0], "-plan="); ok {
		return name, args[1:]
	}
	return "", args
}

// testrun carries out a plan and returns the exit status.
func testrun(plan string, args []string, signals <-chan os.Signal) (status int, err error) {
	stages, err := stagesOf(plan, args)
	if err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	factor := paceOf()
	stall, err := stallLimit(factor)
	if err != nil {
		return 1, err
	}
	scratch, err := makeScratch()
	if err != nil {
		return 1, err
	}
	defer scratch.remove()
	r := newRun(os.Stdout, module)
	r.stall, r.starting, r.factor = stall, 4*stall, factor
	r.verbose = verbose(args)
	if log, err := os.Create(filepath.Join(filepath.Dir(self), "test-failures.log")); err == nil {
		defer log.Close()
		r.log = log
	}
	g := &goTests{run: r, self: self, dir: dir, states: scratch.states, tmp: scratch.tmp, factor: factor}
	r.usage = g.cpu
	return g.carryOut(stages, signals), nil
}

// paceOf returns the factor that limits inside tests are multiplied by, and says so.
func paceOf() float64 {
	given := os.Getenv(pace.Variable)
	factor := pace.Factor()
	switch {
	case given != "":
		say("limits inside tests are multiplied by %v, as %s says", factor, pace.Variable)
	case factor > 1:
		say("this machine is slower than the one that limits inside tests were written for: they are multiplied by %v", factor)
	default:
		say("limits inside tests are as written: this machine is fast enough")
	}
	return factor
}

func stallLimit(factor float64) (time.Duration, error) {
	given := os.Getenv("PUNCTUAL_TEST_STALL")
	if given == "" {
		return time.Duration(min(factor, 4) * float64(5*time.Minute)), nil
	}
	d, err := time.ParseDuration(given)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("PUNCTUAL_TEST_STALL=%q is not a duration above 0, such as 90s", given)
	}
	return d, nil
}

// verbose reports whether the arguments ask for the output of tests that pass.
func verbose(args []string) bool {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		switch strings.TrimPrefix(name, "test.") {
		case "v", "bench", "fuzz", "json":
			if strings.HasPrefix(arg, "-") {
				return true
			}
		}
	}
	return false
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func factorText(factor float64) string { return strconv.FormatFloat(factor, 'g', -1, 64) }
