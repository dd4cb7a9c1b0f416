package execute

import "syscall"

// readable reports whether bytes, the end or an error can be read from a connection.
func readable(raw syscall.RawConn) (ready bool) {
	_ = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		ready = err != syscall.EAGAIN
		return true
	})
	return ready
}
