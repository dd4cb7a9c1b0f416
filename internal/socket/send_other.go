//go:build !unix

package socket

import (
	"errors"
	"net"
)

// send fails: these systems have no such supervisor.
func send(string, string, *net.TCPListener) error { return errors.ErrUnsupported }
