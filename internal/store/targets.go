package store

import (
	"context"
	"time"
)

// TargetBlock is a target that no account may call.
type TargetBlock struct {
	Target    string // a host name, an address or a CIDR prefix, as execute.Rule writes it
	Reason    string // at most MaxBlockReason bytes
	BlockedAt time.Time
}

const (
	// MaxTargetBlocks is how many targets can be blocked: each connection is
	// checked against all of them.
	MaxTargetBlocks = 1000
	// MaxBlockReason is how long the reason of a block may be, in bytes.
	MaxBlockReason = 1000
)

// TooManyBlocks is the sentence of the fault for one block too many.
const TooManyBlocks = "1000 targets are blocked already; unblock one, or block a CIDR prefix or domain that holds several"

// Targets keeps what operators block for all accounts.
type Targets interface {
	// TargetBlock blocks a target. One that is blocked already gets the new
	// reason and keeps its time, which b then has; an Invalid fault when
	// MaxTargetBlocks others are.
	TargetBlock(ctx context.Context, b *TargetBlock) error
	// TargetUnblock ends a block; a NotFound fault when there is none.
	TargetUnblock(ctx context.Context, target string) error
	// TargetBlocks reads all blocks in the order of their targets' bytes.
	TargetBlocks(ctx context.Context) ([]TargetBlock, error)
}
