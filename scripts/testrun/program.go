package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Variables that package test/e2e/harness reads.
const (
	programVariable = "PUNCTUAL_E2E_BINARY"
	raceVariable    = "PUNCTUAL_E2E_RACE"
)

// build builds the service's program once for all packages that run it, if the stages ask
// for it and no other is given, and reports whether the tests can begin.
func (g *goTests) build(stages []stage) bool {
	i := slices.IndexFunc(stages, func(s stage) bool { return s.program })
	if i < 0 || os.Getenv(programVariable) != "" {
		return true
	}
	s := stages[i]
	path := filepath.Join(g.states, "punctual")
	args := []string{"build", "-o", path}
	if os.Getenv(raceVariable) != "" || slices.ContainsFunc(s.env, func(v string) bool { return strings.HasPrefix(v, raceVariable+"=") }) {
		args = append(args, raceFlags...)
	}
	cmd := exec.Command("go", append(args, "./cmd/punctual")...)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // as go test gets it: what is compiled serves both
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var messages tail
	cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stderr, &messages), io.MultiWriter(os.Stderr, &messages)
	if err := g.runOnce(cmd); err != nil {
		if !g.stopped() {
			g.run.broken(s, fmt.Sprintf("building the service's program: %v", err), messages.String())
		}
		return false
	}
	g.program = path
	return true
}

var errStopped = errors.New("the tests were stopped")

// runOnce runs a command in a process group of its own, which ends with the tests.
func (g *goTests) runOnce(cmd *exec.Cmd) error {
	if g.stopped() {
		return errStopped
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if !g.began(cmd.Process.Pid) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // stopped meanwhile
	}
	defer g.ended(cmd.Process.Pid)
	return cmd.Wait()
}
