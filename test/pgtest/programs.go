package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// program finds one of PostgreSQL's programs, its pooler, Patroni or etcd.
func program(name string) (string, error) {
	// PATH may hold Debian's wrappers for clients only; the newest server
	// package has all of them together.
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err == nil && len(found) > 0 {
		slices.SortFunc(found, func(a, b string) int { return major(b) - major(a) })
		return found[0], nil
	}
	// PgBouncer is in a directory that is not in everybody's PATH.
	for _, candidate := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s was found neither in PATH nor in /usr/lib/postgresql; install Debian's packages postgresql, pgbouncer, patroni and etcd-server, or run make test, which does so as root; or set TEST_DATABASE_URL for the tests that start no server of their own", name)
}

// major returns the version in a path as in /usr/lib/postgresql/15/bin/initdb.
func major(path string) int {
	version, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return version
}

// account returns whom programs run as: nobody else than the caller, unless that
// is root.
func account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}, nil
		}
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and there is neither a user postgres nor nobody; run the tests as another user")
}

// command prepares a program to run in dir.
func command(dir, name string, args ...string) (*exec.Cmd, error) {
	path, err := program(name)
	if err != nil {
		return nil, err
	}
	credential, err := account()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	// Of a group of its own, so that an interrupt from the terminal is left to
	// the guard.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true}
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PG") || strings.HasPrefix(v, "PATRONI_") || strings.HasPrefix(v, "ETCD_")
	}), "LC_ALL=C", "HOME="+dir)
	return cmd, nil
}

// run runs a program to its end.
func run(dir, name string, args ...string) error {
	cmd, err := command(dir, name, args...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
