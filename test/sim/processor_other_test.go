//go:build !unix

package sim

import "time"

// processorTime returns 0: it is not known here.
func processorTime() time.Duration { return 0 }
