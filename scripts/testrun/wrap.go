package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// statesVariable has the directory for the states of test programs.
const statesVariable = "PUNCTUAL_TESTRUN_STATES"

// state is what the wrapper of a test program tells the runner, in a file of its own.
type state struct {
	Dir   string // of the package
	PID   int    // of the test program, and of its process group
	Ended bool
	CPU   time.Duration // of it and of its children
}

// wrap runs a test program in a process group of its own, so that the runner can end
// it with all that it has started, and records the processor time.
func wrap(args []string) int {
	states := os.Getenv(statesVariable)
	if err := os.Unsetenv(statesVariable); err != nil {
		return wrapFailed(err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return wrapFailed(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return wrapFailed(err)
	}
	s := state{Dir: dir, PID: cmd.Process.Pid}
	if err := s.write(states); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err) // the tests run nevertheless
	}
	go func() {
		for sig := range signals {
			_ = syscall.Kill(-cmd.Process.Pid, sig.(syscall.Signal)) // it may have ended
		}
	}()
	err = cmd.Wait()
	// What a test has left behind, as one that panicked, would take time from others. The
	// guards of servers have groups of their own.
	_ = syscall.Kill(-s.PID, syscall.SIGKILL)
	s.Ended, s.CPU = true, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	if err := s.write(states); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
	}
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		return wrapFailed(err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		fmt.Fprintf(os.Stderr, "signal: %s\n", status.Signal())
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

func wrapFailed(err error) int {
	fmt.Fprintln(os.Stderr, "testrun: running a test program:", err)
	return 1
}

func (s state) write(dir string) error {
	if dir == "" {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, strconv.Itoa(s.PID)+".json")
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// statesIn reads the states of all test programs of this run.
func statesIn(dir string) []state {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil
	}
	var all []state
	for _, path := range paths {
		var s state
		if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &s) == nil && s.PID > 1 {
			all = append(all, s)
		}
	}
	return all
}
