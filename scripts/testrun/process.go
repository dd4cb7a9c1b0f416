package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// graceful is how long processes get to end when they are asked to, and how long one
// gets to print its goroutines.
const (
	graceful = 3 * time.Second
	printing = 20 * time.Second
)

// goTests calls go test.
type goTests struct {
	run    *run
	self   string // the path of this program
	dir    string // of the repository
	states string
	tmp    string
	factor float64

	program string // the service's, once built; empty if each package builds it itself

	mu     sync.Mutex
	groups []int // process groups of go test that run
	halted bool  // no more may begin
}

// carryOut runs the stages and returns the exit status.
func (g *goTests) carryOut(stages []stage, signals <-chan os.Signal) int {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !g.build(stages) {
			return
		}
		for i, s := range stages {
			if g.both(s) {
				continue
			}
			for _, rest := range stages[i+1:] {
				g.run.say("not run, because of what failed before: %s", strings.Join(rest.packages, " "))
			}
			return
		}
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-done:
			if g.run.finish(false) {
				return 0
			}
			return 1
		case sig := <-signals:
			say("%s: ending the tests", sig)
			g.stop()
			<-done
			g.run.finish(true)
			return 128 + int(sig.(syscall.Signal))
		case now := <-tick.C:
			g.watch(now)
		}
	}
}

// both runs a stage and those beside it.
func (g *goTests) both(s stage) bool {
	all := append([]stage{s}, s.beside...)
	return beside(len(all), rows(runtime.GOMAXPROCS(0)), func(i int) bool { return g.one(all[i]) })
}

// rows returns how many stages run at once. Beside each other on one processor they would
// make each other, and the servers that they start, later than these accept.
func rows(processors int) int {
	if processors == 1 {
		return 1
	}
	return 3
}

// beside runs n things in their order, up to most at once, and reports whether all
// succeeded.
func beside(n, most int, run func(i int) bool) bool {
	var failed atomic.Bool
	var group sync.WaitGroup
	turns := make(chan struct{}, most)
	for i := range n {
		turns <- struct{}{}
		group.Go(func() {
			if !run(i) {
				failed.Store(true)
			}
			<-turns
		})
	}
	group.Wait()
	return !failed.Load()
}

// one runs go test.
func (g *goTests) one(s stage) bool {
	if g.stopped() {
		return false
	}
	if s.program && g.program != "" {
		s.env = append(slices.Clone(s.env), programVariable+"="+g.program)
	}
	args := slices.Concat([]string{"test", "-json", "-timeout", "0", "-exec", quote(g.self) + " -wrap"}, s.args, s.packages)
	cmd := exec.Command("go", args...)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", statesVariable+"="+g.states, pace.Variable+"="+factorText(g.factor))
	if g.tmp != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+g.tmp)
	}
	cmd.Env = append(cmd.Env, s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var messages tail
	cmd.Stderr = io.MultiWriter(os.Stderr, &messages)
	cmd.WaitDelay = graceful
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		g.run.broken(s, fmt.Sprintf("starting go test: %v", err), "")
		return false
	}
	if !g.began(cmd.Process.Pid) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // stopped meanwhile
	}
	defer g.ended(cmd.Process.Pid)
	before := g.run.failedSoFar()
	g.read(out, s)
	err = cmd.Wait()
	if err != nil && g.run.failedSoFar() == before && !g.stopped() && g.run.allEnded() {
		g.run.broken(s, fmt.Sprintf("go test: %v", err), messages.String())
	}
	return err == nil
}

// read takes what go test prints, line by line.
func (g *goTests) read(out io.Reader, s stage) {
	for lines := bufio.NewReader(out); ; {
		text, err := lines.ReadBytes('\n')
		if text = bytes.TrimSpace(text); len(text) > 0 {
			g.run.line(text, s.prefix, time.Now())
		}
		if err != nil {
			return // it has ended; its status tells the rest
		}
	}
}

// watch ends packages that make no progress.
func (g *goTests) watch(now time.Time) {
	for _, name := range g.run.stalled(now) {
		go g.quit(name)
	}
	if g.run.silent(now) {
		g.run.say("go test has been silent for too long while no package ran; ending it")
		g.kill(syscall.SIGKILL)
	}
	g.run.tell(now)
}

// quit has the test program of a package print its goroutines, and ends it with all
// that it has started.
func (g *goTests) quit(name string) {
	found := false
	for _, s := range statesIn(g.states) {
		if s.Dir != g.dirOf(name) {
			continue
		}
		found = true
		if s.Ended { // in an earlier stage, or just now
			continue
		}
		_ = syscall.Kill(s.PID, syscall.SIGQUIT)
		for deadline := time.Now().Add(printing); time.Now().Before(deadline) && alive(s.PID); time.Sleep(100 * time.Millisecond) {
		}
		_ = syscall.Kill(-s.PID, syscall.SIGKILL) // what is left of its group
	}
	for deadline := time.Now().Add(printing); found && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if g.run.hasEnded(name) {
			return
		}
	}
	if !g.run.hasEnded(name) {
		g.run.say("%s can't be ended by itself: ending go test", name)
		g.kill(syscall.SIGKILL)
	}
}

// stop ends all tests. The guards of servers have process groups of their own, and act
// when the tests are gone.
func (g *goTests) stop() {
	g.mu.Lock()
	groups := slices.Clone(g.groups)
	g.halted = true
	g.mu.Unlock()
	g.signal(groups, syscall.SIGTERM)
	for deadline := time.Now().Add(graceful); time.Now().Before(deadline) && g.anyAlive(groups); time.Sleep(50 * time.Millisecond) {
	}
	g.signal(groups, syscall.SIGKILL)
}

func (g *goTests) kill(sig syscall.Signal) {
	g.mu.Lock()
	groups := slices.Clone(g.groups)
	g.mu.Unlock()
	g.signal(groups, sig)
}

// signal sends a signal to the groups of go test and of the test programs.
func (g *goTests) signal(groups []int, sig syscall.Signal) {
	for _, s := range statesIn(g.states) {
		if !s.Ended || sig == syscall.SIGKILL {
			_ = syscall.Kill(-s.PID, sig) // gone already
		}
	}
	for _, group := range groups {
		_ = syscall.Kill(-group, sig)
	}
}

func (g *goTests) anyAlive(groups []int) bool {
	for _, group := range groups {
		if alive(-group) {
			return true
		}
	}
	for _, s := range statesIn(g.states) {
		if alive(-s.PID) {
			return true
		}
	}
	return false
}

// alive reports whether a process, or a group if negative, is there.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func (g *goTests) began(pid int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.halted {
		return false
	}
	g.groups = append(g.groups, pid)
	return true
}

func (g *goTests) ended(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups = slices.DeleteFunc(g.groups, func(group int) bool { return group == pid })
}

func (g *goTests) stopped() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.halted
}

// dirOf returns the directory of a package.
func (g *goTests) dirOf(name string) string { return filepath.Join(g.dir, short(name, module)) }

// cpu returns the processor time of the tests of a package so far, and whether it is known.
func (g *goTests) cpu(name string) (took time.Duration, known bool) {
	for _, s := range statesIn(g.states) {
		if s.Ended && s.Dir == g.dirOf(name) {
			took, known = took+s.CPU, true
		}
	}
	return took, known
}

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-4096):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
