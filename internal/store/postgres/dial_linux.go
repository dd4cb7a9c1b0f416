package postgres

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// giveUp makes the kernel close a connection whose data is unacknowledged for
// deadAfter.
func giveUp(network, _ string, c syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter/time.Millisecond))
	})
	if err != nil {
		return err
	}
	return failed
}
