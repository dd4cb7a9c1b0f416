package fair

import (
	"math/rand/v2"
	"testing"
)

// A hostile account that puts without end takes nothing from one that holds little.
func TestCache_AnAccountDisplacesNoneOfOthers(t *testing.T) {
	const most, mine = 100, 10
	c := NewCache[int, int](most)
	for key := range 3 * most {
		c.Put(1, key, key, 1)
	}
	for key := range mine {
		c.Put(2, -1-key, key, 1)
	}
	for key := range 10 * most {
		c.Put(int64(3+key%2), 1000+key, key, 1)
	}
	for key := range mine {
		if _, ok := c.Get(-1 - key); !ok {
			t.Errorf("value %d was displaced", key)
		}
	}
	if values, cost := c.Size(); values != most || cost != most {
		t.Errorf("%d values of %d are kept, want %d", values, cost, most)
	}
}

func TestCache_TheLongestUnusedValueOfAnAccountGoesFirst(t *testing.T) {
	c := NewCache[string, int](3)
	for _, key := range []string{"a", "b", "c"} {
		c.Put(1, key, 0, 1)
	}
	c.Get("a")
	c.Put(1, "d", 0, 1)
	if _, ok := c.Get("b"); ok {
		t.Error("b is kept")
	}
	c.Put(1, "e", 0, 4)
	if _, ok := c.Get("e"); ok {
		t.Error("a value beyond the bound is kept")
	}
	c.Delete("a")
	c.Delete("none")
	if values, _ := c.Size(); values != 2 {
		t.Errorf("%d values are kept, want 2", values)
	}
}

func TestCache_CountsWhatItKeeps(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	const most = 500
	c := NewCache[int, int](most)
	for range 20_000 {
		key := rnd.IntN(400)
		switch rnd.IntN(5) {
		case 0:
			c.Delete(key)
		case 1:
			c.Get(key)
		default:
			c.Put(int64(key%7), key, key, int64(1+rnd.IntN(60)))
		}
		sum, values := int64(0), 0
		for account, h := range c.accounts {
			own := int64(0)
			for at := h.values.Front(); at != nil; at = at.Next() {
				e := at.Value.(*entry[int, int])
				if e.account != account || e.value != e.key {
					t.Fatalf("account %d has %+v", account, e)
				}
				own += e.cost
				values++
			}
			if own != h.cost || own == 0 || c.ranking[h.rank] != h || h.cost > c.ranking[0].cost {
				t.Fatalf("account %d has %d, counted as %d", account, own, h.cost)
			}
			sum += own
		}
		if sum != c.cost || sum > most || values != len(c.entries) || len(c.accounts) != len(c.ranking) {
			t.Fatalf("%d values of %d are kept, counted as %d of %d", values, sum, len(c.entries), c.cost)
		}
	}
}
