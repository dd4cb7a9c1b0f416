//go:build !(linux || darwin || freebsd)

package sqlite

import (
	"errors"
	"io/fs"
)

// diskSpace returns an error: the space is not known on this system.
func diskSpace(string) (free, size int64, err error) {
	return 0, 0, errors.New("the free space is not known on this system")
}

// unwritable returns "": SQLite reports files that can't be written.
func unwritable(string, fs.FileInfo) string { return "" }
