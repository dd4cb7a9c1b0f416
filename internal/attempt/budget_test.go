package attempt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestBudget_IsSharedByAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100, 50)
		got := make(chan string, 10)
		ctx, cancel := context.WithCancel(t.Context())
		take := func(name string, account int64, n int) {
			go func() {
				if err := b.take(ctx, account, n); err == nil {
					got <- name
				} else if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
			}()
			synctest.Wait()
		}
		want := func(when string, names ...string) {
			t.Helper()
			synctest.Wait()
			for _, name := range names {
				select {
				case first := <-got:
					if first != name {
						t.Errorf("%s %s got its bytes, want %s", when, first, name)
					}
				default:
					t.Errorf("%s %s got nothing", when, name)
				}
			}
			if len(got) > 0 {
				t.Errorf("%s %s got its bytes, too", when, <-got)
			}
		}
		take("a", 1, 30)
		take("b", 1, 30)
		want("over its share", "a")
		take("c", 2, 60)
		take("d", 3, 100)
		want("with nothing in use", "c", "d")
		take("e", 4, 20)
		want("over twice the budget")
		b.give(3, 100)
		want("when there is room again", "e")
		b.give(1, 30)
		want("within its share", "b")
		take("f", 5, 500)
		cancel()
		want("when the wait ends")
		if b.used != 110 || len(b.by) != 3 {
			t.Errorf("%d bytes in use by %d accounts", b.used, len(b.by))
		}
	})
}
