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
// makes it eight times slower.
var raceFlags = []string{"-race", "-gcflags=modernc.org/...=-race=false"}

// longest are the packages that take longest, which come first, so that none runs alone
// at the end.
var longest = []string{
	"test/nodes", "test/browser", "internal/store/postgres", "internal/cli", "test/e2e",
	"internal/store/sqlite", "test/clients/typescript", "internal/copydb",
}

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
}

// The packages that stand apart in the plans.
var (
	simulation = []string{"test/sim"}
	attacks    = []string{"test/hostile"}
)

const (
	repeat      = "scripts/test"
	repeatPlain = "scripts/test -race=false"
)

// stagesOf returns what a plan consists of, in order; each runs if all before it passed.
func stagesOf(plan string, args []string) ([]stage, error) {
	if plan == "" && len(args) > 0 {
		prefix := strings.Join(append([]string{repeat}, kept(args)...), " ")
		return []stage{{args: slices.Concat(raceFlags, []string{"-p", "3"}, args), prefix: prefix}}, nil
	}
	if plan == "quick" {
		packages, err := list("./internal/...", "./api/...", "./client/...", "./scripts/testrun", "./test/pace")
		flags := slices.Concat([]string{"-short", "-vet=off"}, args) // make lint vets
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

// everything is what `make test` runs. The end-to-end packages run real processes and
// wait for clocks: three packages at once keep two cores busy. The simulation runs on one
// thread, in virtual time, in an order that the race detector would change; it runs
// beside them. The attacks need the machine for themselves, and an attacker that is not
// slowed down by the race detector.
func everything(packages, args []string) []stage {
	return []stage{
		{
			args:     slices.Concat(raceFlags, []string{"-p", "3"}, args),
			packages: without(ordered(packages), slices.Concat(simulation, attacks)),
			prefix:   repeat,
			beside:   []stage{{args: args, packages: only(packages, simulation), prefix: repeatPlain}},
		},
		{args: args, packages: only(packages, attacks), prefix: repeatPlain},
	}
}

// raced is everything with the race detector: also the simulation, the attacks, and the
// programs that the end-to-end tests run.
func raced(packages, args []string) []stage {
	flags, env := slices.Concat(raceFlags, []string{"-p", "2"}, args), []string{"PUNCTUAL_E2E_RACE=1"}
	prefix := env[0] + " " + repeat
	return []stage{
		{args: flags, packages: without(ordered(packages), attacks), env: env, prefix: prefix},
		{args: flags, packages: only(packages, attacks), env: env, prefix: prefix},
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
