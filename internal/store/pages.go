package store

import (
	"time"
)

const (
	// ReadWithin is the timeout of a read for a client, including the wait for a
	// connection. The read then returns a TooMany fault.
	ReadWithin = 10 * time.Second
)
