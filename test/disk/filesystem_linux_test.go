package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// mounted mounts a tmpfs of a size in bytes for one test.
func mounted(t *testing.T, size int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("punctual-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		t.Skipf("needs the right to mount a filesystem (root with CAP_SYS_ADMIN), for a disk of its own: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// remounted makes a mounted filesystem read-only or writable.
func remounted(t *testing.T, dir string, readOnly bool) {
	t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if readOnly {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount("punctual-test", dir, "tmpfs", flags, ""); err != nil {
		t.Fatal(err)
	}
}

// fill writes a file that leaves so many bytes of a filesystem.
func fill(t *testing.T, dir string, leave int64) (remove func()) {
	t.Helper()
	var space syscall.Statfs_t
	if err := syscall.Statfs(dir, &space); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fmt.Sprintf("ballast-%d", leave))
	if n := int64(space.Bavail)*space.Bsize - leave; n > 0 {
		if err := os.WriteFile(path, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

func onDisk(dir string) harness.Option {
	return harness.Database("sqlite:" + filepath.Join(dir, "punctual.db"))
}
