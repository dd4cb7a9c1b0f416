//go:build linux || darwin || freebsd

package sqlite

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// diskSpace returns how many bytes this process may still use of the filesystem
// of a directory, and the filesystem's size.
func diskSpace(dir string) (free, size int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil
}

// unwritable returns a sentence saying that this user may not read and write a
// file, or "" if it may.
func unwritable(path string, info fs.FileInfo) string {
	err := unix.Access(path, unix.R_OK|unix.W_OK)
	if err == nil {
		return ""
	}
	owner := "another user"
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = userName(int(stat.Uid))
	}
	return fmt.Sprintf("%s can't be read and written by %s (%v); it belongs to %s: change its owner and permissions, or start punctual as that user",
		path, userName(os.Getuid()), err, owner)
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return "the user " + u.Username
	}
	return "the user with id " + strconv.Itoa(uid)
}
