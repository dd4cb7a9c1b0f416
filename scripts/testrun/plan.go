package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const module = "github.com/punctual-dev/punctual"

// raceFlags have the race detector look at everything but SQLite, which is C that was
// translated to Go. Its memory is not Go's, so the race detector finds nothing in it and
// makes it eight times slower. Nor does it look at the hash of passwords, which runs in
// one goroutine, in memory of its own. SQLite's driver in Go is looked at: a package that
// is not, and uses sync.Map, can lend its copy of sync.Map's code to all others, whose
// correct uses then look like races.
var raceFlags = []string{
	"-race", "-gcflags=modernc.org/sqlite/lib=-race=false", "-gcflags=modernc.org/libc=-race=false",
	"-gcflags=golang.org/x/crypto/argon2=-race=false",
}

// testFlags are those of every test: without debugging information, which no test needs,
// a test program is linked in two thirds of the time; and make lint vets.
var testFlags = []string{"-ldflags=-w", "-vet=off"}

// crowds are packages each of which keeps two processors busy by itself: with several
// services, servers or browsers at once. Of these one runs at a time: two would make each
// other late, not the whole shorter.
var crowds = []string{"test/nodes", "test/browser", "test/e2e", "test/soak"}

// longest are the packages that take longest, which come first, so that none runs alone
// at the end.
var longest = []string{
	"test/nodes", "test/e2e", "test/browser", "test/clients/typescript", "test/generators", "internal/cli",
	"internal/store/postgres", "internal/copydb", "internal/store/sqlite", "internal/execute", "internal/dashboard",
}

// plain are the packages that run without the race detector in `make test`; all others
// run with it. Their tests drive other processes, which it does not look at, or make one
// call after the other, so it would only slow the tests themselves. `make race` runs them
// with it, and the service too.
var plain = []string{
	"internal/bench",     // a service in another process, which it measures
	"internal/cli",       // commands in processes of their own
	"internal/copydb",    // copies one record after the other; two goroutines count what is in each store
	"internal/dashboard", // asks for one page after the other
	"scripts/release",    // calls compilers, one after the other
	"test/browser",
	"test/clients/clienttest",
	"test/clients/google",
	"test/clients/mcp",
	"test/clients/qstash",
	"test/clients/python",
	"test/clients/typescript",
	"test/clients/workflow",
	"test/copies",
	"test/deploy",
	"test/differ", // one call after the other; what is concurrent in a service, others test
	"test/disk",
	"test/docs",
	"test/e2e",
	"test/examples",
	"test/generators",
	"test/hostile", // an attacker must not be slowed down
	"test/nodes",
	"test/pages",
	"test/rehearsal", // in virtual time, as test/sim
	"test/sim",       // one thread in virtual time, in an order that the detector would change
	"test/soak",
}

// sequential are packages that start no goroutines, nor do their tests, as a test
// verifies. `make test` runs them without the race detector, which would make them five
// times slower, and `make race` with it.
var sequential = []string{
	"api",
	"internal/archtest",
	"internal/job",
	"internal/lifecycle",
	"internal/rehearse",
	"internal/schedule",
	"internal/yamljson",
}

// stores are packages whose store suite runs in two parts: what is concurrent with the
// race detector, as their other tests, the rest without. Nor do their tests of plans run
// with it, which would spend half their time on reading plans.
var stores = []string{"internal/store/postgres", "internal/store/sqlite"}

// What selects the parts of the store suite; see internal/store/storetest.
const (
	storeSuite     = "^Test(Conformance|Store|Statements_DoBoundedWork|HotOperations_(UseTheirIndexes|ArePlannedOnce))$"
	storesOneByOne = "^Test(Statements_DoBoundedWork|HotOperations_(UseTheirIndexes|ArePlannedOnce))$" // make one call after the other
	storesParallel = "PUNCTUAL_STORETEST=concurrent"
	storesSerial   = "PUNCTUAL_STORETEST=sequential"
)

// exclusive are packages that need the machine for themselves.
var exclusive = []string{"test/hostile"}

// notQuick are packages that `make test-quick` leaves out: those that need a server, and
// one that measures.
var notQuick = []string{"internal/store/postgres", "internal/copydb", "internal/bench"}

// stage is one call of go test. Stages that stand beside each other run at once.
type stage struct {
	args     []string // of go test, before the packages
	packages []string
	env      []string
	beside   []stage
	prefix   string // of commands that repeat a test of it
	program  bool   // the tests get the service's program from the runner
}

const (
	repeat      = "scripts/test"
	repeatPlain = "scripts/test -race=false"
)

// stagesOf returns what a plan consists of, in order; each runs if all before it passed.
func stagesOf(plan string, args []string) ([]stage, error) {
	if plan == "" && len(args) > 0 {
		prefix := strings.Join(append([]string{repeat}, kept(args)...), " ")
		return []stage{{args: slices.Concat(raceFlags, testFlags, []string{"-p", "3"}, args), prefix: prefix}}, nil
	}
	if plan == "quick" {
		packages, err := list("./internal/...", "./api/...", "./client/...", "./scripts/testrun", "./test/pace")
		flags := slices.Concat([]string{"-short"}, testFlags, args)
		return []stage{{args: flags, packages: without(packages, notQuick), prefix: repeatPlain}}, err
	}
	packages, err := list("./...")
	if err != nil {
		return nil, err
	}
	switch plan {
	case "", "all":
		return everything(packages, args), nil
	case "race":
		return raced(packages, args), nil
	}
	return nil, fmt.Errorf("there is no plan %q; there are all, quick and race", plan)
}

// everything is what `make test` runs, in three rows beside each other, or after each other
// on one processor: one of the crowds, one package of the others that run without the race
// detector, which wait for other processes and clocks more than they work, and two with it,
// which work. That keeps two cores busy and no more. Then come the other part of the store
// suite, and what needs the machine for itself.
func everything(packages, args []string) []stage {
	rest := without(ordered(packages), exclusive)
	args = slices.Concat(testFlags, args)
	bare := slices.Concat(plain, sequential)
	one, two := slices.Concat([]string{"-p", "1"}, args), slices.Concat(raceFlags, []string{"-p", "2", "-skip", storesOneByOne}, args)
	return []stage{
		{
			args: one, packages: only(rest, crowds), prefix: repeatPlain, program: true,
			beside: []stage{
				{args: one, packages: without(only(rest, bare), crowds), prefix: repeatPlain, program: true},
				{args: two, packages: without(rest, slices.Concat(bare, crowds)), env: []string{storesParallel}, prefix: repeat,
					program: true},
			},
		},
		{args: slices.Concat(args, []string{"-run", storeSuite}), packages: only(rest, stores), env: []string{storesSerial},
			prefix: repeatPlain},
		{args: args, packages: only(packages, exclusive), prefix: repeatPlain, program: true},
	}
}

// raced is everything with the race detector: also what runs without it otherwise, and
// the program that the end-to-end tests run. What `make test` looks at in part is looked
// at as a whole.
func raced(packages, args []string) []stage {
	flags, env := slices.Concat(raceFlags, testFlags, []string{"-p", "2"}, args), []string{raceVariable + "=1", "PUNCTUAL_E2E_FULL=1"}
	prefix := strings.Join(env, " ") + " " + repeat
	return []stage{
		{args: flags, packages: without(ordered(packages), exclusive), env: env, prefix: prefix, program: true},
		{args: flags, packages: only(packages, exclusive), env: env, prefix: prefix, program: true},
	}
}

// ordered puts the packages that take longest first.
func ordered(packages []string) []string {
	var first []string
	for _, name := range longest {
		if slices.Contains(packages, module+"/"+name) {
			first = append(first, module+"/"+name)
		}
	}
	return append(first, without(packages, longest)...)
}

func only(packages, names []string) []string {
	return slices.DeleteFunc(slices.Clone(packages), func(p string) bool {
		return !slices.Contains(names, strings.TrimPrefix(p, module+"/"))
	})
}

func without(packages, names []string) []string {
	return slices.DeleteFunc(slices.Clone(packages), func(p string) bool {
		return slices.Contains(names, strings.TrimPrefix(p, module+"/"))
	})
}

// kept returns the arguments that a command which repeats one test needs as well: how
// the program is built.
func kept(args []string) (found []string) {
	for i, arg := range args {
		name, _, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if !strings.HasPrefix(arg, "-") || !slices.Contains([]string{"race", "tags", "short", "cpu", "parallel", "gcflags"}, name) {
			continue
		}
		found = append(found, quote(arg))
		if !given && name != "race" && name != "short" && i+1 < len(args) {
			found = append(found, quote(args[i+1]))
		}
	}
	return found
}

func list(patterns ...string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	return strings.Fields(string(bytes.TrimSpace(out))), nil
}
