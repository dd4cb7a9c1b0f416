package disk

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// patience is how long something may take that a healthy service does at once.
const patience = time.Minute

// needStrace skips the test where programs can't be traced.
func needStrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace, to make the disk fail: install the package strace")
	}
	if out, err := exec.Command("strace", "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("needs the right to trace processes (ptrace), to make the disk fail: %v %s", err, out)
	}
}

// databaseOf returns the database's file, and that and the others that it consists of.
func databaseOf(t *testing.T, s *harness.Service) (path string, all []string) {
	t.Helper()
	path, isSQLite := strings.CutPrefix(s.DatabaseURL, "sqlite:")
	if !isSQLite {
		t.Skip("is about the files of SQLite")
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, []string{path, path + "-wal", path + "-journal", path + ".lock"}
}

// inject makes system calls on the database's files fail or wait, as strace's option
// inject describes, until the function that it returns is called.
func inject(t *testing.T, s *harness.Service, fault string) (end func()) {
	t.Helper()
	calls, _, _ := strings.Cut(fault, ":")
	_, paths := databaseOf(t, s)
	args := []string{"-f", "-e", "trace=" + calls, "-e", "inject=" + fault, "-e", "signal=none", "-o", os.DevNull, "-p",
		strconv.Itoa(s.PID())}
	for _, path := range paths {
		args = append(args, "-P", path)
	}
	command := exec.Command("strace", args...)
	said, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	attached := false
	for !attached && lines.Scan() {
		attached = strings.Contains(lines.Text(), " attached")
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		for lines.Scan() {
		}
	}()
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		_ = command.Process.Signal(syscall.SIGINT) // it detaches
		<-rest
		if err := command.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	if !attached {
		t.Fatal("strace did not attach to the service")
	}
	return end
}

// recordThrough starts a service so that strace appends to a file what it does to
// the files of a directory.
func recordThrough(record, dir, database string) harness.Option {
	return harness.Through("strace", "-D", "-f", "-A", "-qq", "-ttt", "-T", "-y", "-xx", "-s", "1048576", "--seccomp-bpf", "-e",
		"signal=none",
		"-e", "trace=open,openat,creat,pwrite64,pwritev,pwritev2,write,writev,fdatasync,fsync,ftruncate,fallocate,sync_file_range,unlink,unlinkat,rename,renameat,renameat2,link,linkat",
		"-P", dir, "-P", database, "-P", database+"-wal", "-P", database+"-journal", "-P", database+".lock", "-o", record)
}
