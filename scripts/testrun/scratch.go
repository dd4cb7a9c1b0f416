package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// memory is where what tests write lies if there is space: thousands of synced databases
// on one disk make those tests late that wait for clocks.
const (
	memory    = "/dev/shm"
	wantFree  = 8 << 30  // bytes in it
	wantSpare = 12 << 30 // bytes of memory
)

// scratch is where a run keeps files.
type scratch struct {
	states string // states of test programs
	tmp    string // for what tests write; empty if that is left to TMPDIR
	lock   *os.File
}

// makeScratch makes the directories of a run, after those of killed runs were removed.
func makeScratch() (*scratch, error) {
	s := &scratch{}
	if os.Getenv("TMPDIR") == "" {
		removeLeft(memory)
		if spacious() {
			if err := s.inMemory(memory); err != nil {
				s.removeTmp()
				say("the tests write to %s: %v", os.TempDir(), err)
			} else {
				say("the tests write to %s, in memory; set TMPDIR to have them write elsewhere", s.tmp)
			}
		}
	}
	var err error
	if s.states, err = os.MkdirTemp("", "punctual-testrun-"); err != nil {
		s.removeTmp()
		return nil, fmt.Errorf("making a directory for states: %w", err)
	}
	return s, nil
}

// inMemory makes a directory with a lock that all processes of the run inherit.
func (s *scratch) inMemory(parent string) error {
	var err error
	if s.tmp, err = os.MkdirTemp(parent, "pt."); err != nil {
		return fmt.Errorf("making a directory in memory: %w", err)
	}
	program := filepath.Join(s.tmp, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		return err
	}
	if err := exec.Command(program).Run(); err != nil {
		return fmt.Errorf("%s is mounted without the right to execute programs: %w", parent, err)
	}
	locking := filepath.Join(s.tmp, "locking")
	if s.lock, err = os.Create(locking); err != nil {
		return err
	}
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("locking %s: %w", s.tmp, err)
	}
	if err := inherit(s.lock); err != nil {
		return fmt.Errorf("having processes inherit the lock of %s: %w", s.tmp, err)
	}
	if err := os.Rename(locking, filepath.Join(s.tmp, "lock")); err != nil { // locked from the beginning
		return err
	}
	return os.Chmod(s.tmp, 0o777|os.ModeSticky) // PostgreSQL runs under an account of its own
}

// inherit lets processes that are started later have the file open as well.
func inherit(f *os.File) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETFD, 0); errno != 0 {
		return errno
	}
	return nil
}

// removeLeft removes what killed runs of this account have left, when no process of theirs
// is there any more.
func removeLeft(parent string) {
	locks, err := filepath.Glob(filepath.Join(parent, "pt.*", "lock"))
	if err != nil {
		return
	}
	for _, path := range locks {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if sys, ok := info.Sys().(*syscall.Stat_t); !ok || int(sys.Uid) != os.Getuid() {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path)) // a later run tries again
		}
		_ = f.Close()
	}
}

// spacious reports whether there is enough memory to keep what tests write.
func spacious() bool {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || uint64(fs.Bavail)*uint64(fs.Bsize) <= wantFree {
		return false
	}
	text, err := os.ReadFile("/proc/meminfo")
	return err == nil && available(string(text)) > wantSpare
}

// available reads the bytes of memory that are available from /proc/meminfo.
func available(meminfo string) uint64 {
	for line := range strings.Lines(meminfo) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemAvailable:" {
			kib, err := strconv.ParseUint(fields[1], 10, 54)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}

// remove removes all files of the run. Servers that tests have started may still be
// ending; their guards remove their directories.
func (s *scratch) remove() {
	if s.tmp != "" {
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
			if left, err := filepath.Glob(filepath.Join(s.tmp, "pgtest-*")); err != nil || len(left) == 0 {
				break
			}
		}
	}
	if err := errors.Join(os.RemoveAll(s.states), s.removeTmp()); err != nil {
		say("files of the tests are left: %v", err)
	}
}

func (s *scratch) removeTmp() error {
	if s.tmp == "" {
		return nil
	}
	err := os.RemoveAll(s.tmp)
	s.tmp = ""
	return err
}
