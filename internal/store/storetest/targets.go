package storetest

import (
	"fmt"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/operator"
)

var targetTests = group{
	"BlockListUnblock": targetsBlocked,
	"BlockedAgain":     targetBlockedAgain,
	"NoMoreThan1000":   targetsFull,
}

func (w *world) block(target, reason string) {
	w.Helper()
	w.ok("TargetBlock", w.s.TargetBlock(w.ctx, &operator.TargetBlock{Target: target, Reason: reason, BlockedAt: w.now}))
}

// wantTargets verifies the list of blocks, each as "target: reason".
func (w *world) wantTargets(want ...string) {
	w.Helper()
	blocked, err := w.s.TargetBlocks(w.ctx)
	w.ok("TargetBlocks", err)
	var got []string
	for _, b := range blocked {
		got = append(got, b.Target+": "+b.Reason)
		if !b.BlockedAt.Equal(w.now) {
			w.Errorf("%s was blocked at %v, want %v", b.Target, b.BlockedAt, w.now)
		}
	}
	w.same("the blocks", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func targetsBlocked(w *world) {
	w.wantTargets()
	w.wantCode("unblocking what is not blocked", w.s.TargetUnblock(w.ctx, "a.example"), fault.NotFound)
	w.block("b.example", "")
	w.block("192.0.2.0/24", "spam")
	w.block("a.example", "café")
	w.wantTargets("192.0.2.0/24: spam", "a.example: café", "b.example: ")
	w.ok("TargetUnblock", w.s.TargetUnblock(w.ctx, "a.example"))
	w.wantCode("unblocking twice", w.s.TargetUnblock(w.ctx, "a.example"), fault.NotFound)
	w.wantTargets("192.0.2.0/24: spam", "b.example: ")
}

// targetBlockedAgain: a block keeps its first time and gets the last reason that was given.
func targetBlockedAgain(w *world) {
	w.block("a.example", "first")
	again := &operator.TargetBlock{Target: "a.example", Reason: "second", BlockedAt: w.ahead()}
	w.ok("TargetBlock", w.s.TargetBlock(w.ctx, again))
	if !again.BlockedAt.Equal(w.now) {
		w.Errorf("the block is said to be from %v, want %v", again.BlockedAt, w.now)
	}
	w.wantTargets("a.example: second")
	again = &operator.TargetBlock{Target: "a.example", BlockedAt: w.ahead()}
	w.ok("TargetBlock", w.s.TargetBlock(w.ctx, again))
	if again.Reason != "second" {
		w.Errorf("without a reason, the block has the reason %q", again.Reason)
	}
	w.wantTargets("a.example: second")
}

func targetsFull(w *world) {
	for i := range operator.MaxTargetBlocks {
		w.block(fmt.Sprintf("%04d.example", i), "")
	}
	more := &operator.TargetBlock{Target: "more.example", BlockedAt: w.now}
	w.wantCode("one block too many", w.s.TargetBlock(w.ctx, more), fault.Invalid)
	w.block("0007.example", "a new reason")
	w.ok("TargetUnblock", w.s.TargetUnblock(w.ctx, "0000.example"))
	w.ok("TargetBlock", w.s.TargetBlock(w.ctx, more))
}
