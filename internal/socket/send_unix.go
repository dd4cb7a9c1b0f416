//go:build unix

package socket

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// send sends a message of sd_notify(3), with a socket unless it is nil.
func send(to, message string, l *net.TCPListener) (err error) {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: to, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	if l == nil {
		_, err = c.Write([]byte(message))
		return err
	}
	out, err := c.SyscallConn()
	if err != nil {
		return err
	}
	socket, err := l.SyscallConn() // not File: it would make the socket's calls block
	if err != nil {
		return err
	}
	var outer, inner error
	err = socket.Control(func(fd uintptr) {
		outer = out.Control(func(to uintptr) {
			// WriteMsgUnix refuses datagram sockets that are connected.
			inner = syscall.Sendmsg(int(to), []byte(message), syscall.UnixRights(int(fd)), nil, 0)
		})
	})
	return errors.Join(err, outer, os.NewSyscallError("sendmsg", inner))
}
