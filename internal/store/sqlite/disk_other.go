//go:build !(linux || darwin || freebsd)

package sqlite

import (
	"errors"
	"io/fs"
)

// diskSpace is not known on this system.
func diskSpace(string) (free, size int64, err error) {
	return 0, 0, errors.New("the free space is not known on this system")
}

// unwritable leaves it to SQLite to find out.
func unwritable(string, fs.FileInfo) string { return "" }
