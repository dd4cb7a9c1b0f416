package operator

import "time"

// Node is a process that runs jobs.
type Node struct {
	Number int64
	// StartedAt and HeartbeatAt, the time of its last heartbeat, are zero on a
	// store for one process.
	StartedAt, HeartbeatAt time.Time
}

// TargetBlock is a target that no account may call.
type TargetBlock struct {
	Target    string // a host name, an address or a CIDR prefix, as execute.Rule writes it
	Reason    string // at most MaxBlockReason bytes
	BlockedAt time.Time
}

const (
	// MaxTargetBlocks is the maximum number of blocked targets. Each connection is
	// checked against all of them.
	MaxTargetBlocks = 1000
	// MaxBlockReason is the maximum length of a block's reason in bytes.
	MaxBlockReason = 1000
)

// TooManyBlocks is the message of the fault for exceeding MaxTargetBlocks.
const TooManyBlocks = "1000 targets are blocked already; unblock one, or block a CIDR prefix or domain that holds several"
