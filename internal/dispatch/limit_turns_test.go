package dispatch

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

func TestLimits_AccountsTakeTurns(t *testing.T) {
	k, now := newLimitKeeper(), time.Now()
	for i := range 1000 {
		k.plan(store.LimitKey{Account: 1, Key: string(rune('a' + i))}, now.Add(-time.Second))
	}
	if due, _ := k.next(now, 4); len(due) != 4 {
		t.Fatalf("%d passes of one account, want 4", len(due))
	}
	k.plan(store.LimitKey{Account: 2, Key: "a"}, now)
	k.plan(store.LimitKey{Account: 3, Key: "a"}, now)
	var accounts []int64
	for range 3 {
		due, _ := k.next(now, 1)
		accounts = append(accounts, due[0].Account)
	}
	if accounts[0] != 2 || accounts[1] != 3 || accounts[2] != 1 {
		t.Errorf("the accounts' turns are %v, want 2, 3, 1", accounts)
	}
}

func TestLimits_PassesGrowWhileTheyDecideAboutAll(t *testing.T) {
	for _, x := range []struct{ considered, decided, want int }{
		{16, 16, 64}, {64, 64, 256}, {256, 256, 256}, {256, 40, 80}, {80, 3, 16}, {16, 0, 16},
	} {
		if got := nextSize(x.considered, x.decided); got != x.want {
			t.Errorf("after %d of %d items the next pass considers %d, want %d", x.decided, x.considered, got, x.want)
		}
	}
}
