package view

import (
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

// Operator is the operator's page: sizes and health, but no contents.
type Operator struct {
	Accounts    []AccountRow
	CountLimit  int64 // records of an account are counted up to this number
	First, Next string

	Running      bool          // jobs are being fired
	StoreDown    bool          // the store does not respond
	StoreLatency time.Duration // how long the store took to respond
	Nodes        []Node

	Signup    string // who may sign up, as a sentence
	CanInvite bool
	Invite    string // a new invite, shown once

	BlockedTargets []BlockedTarget
	MoreBlocked    int // how many more there are
	Notice         string
}

// AccountRow is an account in the operator's list. Its counts are texts.
type AccountRow struct {
	Number                          int64
	Email                           string
	CreatedAt                       time.Time
	Suspended, Operator, Public     bool
	Pending, Final, Schedules, Logs string
}

// Node is a process that runs jobs. Its times are zero on a store for one process.
type Node struct {
	Number                 int64
	StartedAt, HeartbeatAt time.Time
	Silent                 bool // its last heartbeat is too long ago
}

// BlockedTarget is a target that no account may call.
type BlockedTarget struct {
	Target, Reason string
	BlockedAt      time.Time
}

// storeLatency formats how long the store took to respond.
func storeLatency(d time.Duration) string {
	if d < time.Millisecond {
		return "responds in under 1 ms"
	}
	return "responds in " + ui.Millis(d)
}
