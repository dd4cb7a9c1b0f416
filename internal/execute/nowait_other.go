//go:build !unix

package execute

import (
	"net"
	"os"
	"time"
)

// readNow reads what has arrived, or returns errNothing.
func readNow(conn net.Conn, b []byte) (int, error) {
	if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return 0, err
	}
	n, err := conn.Read(b)
	if os.IsTimeout(err) {
		err = errNothing
	}
	if cleared := conn.SetReadDeadline(time.Time{}); err == nil {
		err = cleared
	}
	return n, err
}
