package app

import (
	"io/fs"
	"os"
	"runtime"
)

// othersMay are the permissions of those who are neither the owner of a file nor in
// its group. Groups are granted access on purpose, as with a mounted secret.
const othersMay fs.FileMode = 0o006

// warnOfModes logs which files with secrets everyone on this machine can read.
func (n *Node) warnOfModes() {
	if runtime.GOOS == "windows" {
		return // the mode does not say who may read a file
	}
	n.warnOfMode("the file of --secrets-key-file", n.config.SecretsKeyFile)
	path, _ := sqlitePath(n.config.DatabaseURL)
	n.warnOfMode("the database", path)
}

func (n *Node) warnOfMode(what, path string) {
	if path == "" {
		return
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&othersMay == 0 {
		return
	}
	n.config.Log.Warn("everyone on this machine can read or write "+what+"; run: chmod o-rw "+path,
		"file", path, "mode", info.Mode().Perm().String())
}
