//go:build !linux

package postgres

import "syscall"

// giveUp does nothing: keep-alives detect dead connections.
func giveUp(_, _ string, _ syscall.RawConn) error { return nil }
