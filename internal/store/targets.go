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
	// MaxTargetBlocks is the maximum number of blocked targets. Each connection is
	// checked against all of them.
	MaxTargetBlocks = 1000
	// MaxBlockReason is the maximum length of a block's reason in bytes.
	MaxBlockReason = 1000
)

// TooManyBlocks is the message of the fault for exceeding MaxTargetBlocks.
const TooManyBlocks = "1000 targets are blocked already; unblock one, or block a CIDR prefix or domain that holds several"

// Targets stores the targets that operators have blocked for all accounts.
type Targets interface {
	// TargetBlock blocks a target. If it is blocked already, TargetBlock replaces
	// the reason, keeps the time and sets it in b. It returns an Invalid fault if
	// MaxTargetBlocks other targets are blocked.
	TargetBlock(ctx context.Context, b *TargetBlock) error
	// TargetUnblock removes a block, or returns a NotFound fault.
	TargetUnblock(ctx context.Context, target string) error
	// TargetBlocks returns all blocks, at most MaxTargetBlocks, in the order of
	// their targets' bytes.
	TargetBlocks(ctx context.Context) ([]TargetBlock, error)
}
