package fair

import (
	"container/heap"
	"container/list"
	"sync"
)

// Cache keeps values by key, each for an account and with a cost, up to a total cost. It
// is safe for concurrent use.
type Cache[K comparable, V any] struct {
	most int64

	mu       sync.Mutex
	cost     int64
	entries  map[K]*list.Element // of *entry
	accounts map[int64]*holder
	ranking  ranking
}

type entry[K comparable, V any] struct {
	key     K
	value   V
	account int64
	cost    int64
}

// holder is an account with values.
type holder struct {
	account int64
	cost    int64
	values  list.List // the most recently used first
	rank    int       // in the ranking
}

// NewCache returns an empty cache for values whose costs are most together.
func NewCache[K comparable, V any](most int64) *Cache[K, V] {
	return &Cache[K, V]{most: most, entries: map[K]*list.Element{}, accounts: map[int64]*holder{}}
}

// Get returns the value of a key, and whether there is one.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.entries[key]
	if at == nil {
		return value, false
	}
	e := at.Value.(*entry[K, V])
	c.accounts[e.account].values.MoveToFront(at)
	return e.value, true
}

// Put sets the value of a key, which belongs to one account always. The cost is 1 or more;
// one of more than the cache may hold is not kept.
func (c *Cache[K, V]) Put(account int64, key K, value V, cost int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delete(key)
	if cost > c.most {
		return
	}
	for c.cost+cost > c.most {
		most := c.ranking[0]
		if own := c.accounts[account]; own != nil && own.cost+cost >= most.cost {
			most = own // with this value, no other account has more
		}
		c.delete(most.values.Back().Value.(*entry[K, V]).key)
	}
	h := c.accounts[account]
	if h == nil {
		h = &holder{account: account}
		c.accounts[account] = h
		heap.Push(&c.ranking, h)
	}
	c.entries[key] = h.values.PushFront(&entry[K, V]{key, value, account, cost})
	c.add(h, cost)
}

// Delete removes the value of a key, if there is one.
func (c *Cache[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delete(key)
}

func (c *Cache[K, V]) delete(key K) {
	at := c.entries[key]
	if at == nil {
		return
	}
	delete(c.entries, key)
	e := at.Value.(*entry[K, V])
	h := c.accounts[e.account]
	h.values.Remove(at)
	c.add(h, -e.cost)
	if h.values.Len() == 0 {
		heap.Remove(&c.ranking, h.rank)
		delete(c.accounts, e.account)
	}
}

func (c *Cache[K, V]) add(h *holder, cost int64) {
	c.cost += cost
	h.cost += cost
	heap.Fix(&c.ranking, h.rank)
}

// Size returns how many values are kept, and their costs together.
func (c *Cache[K, V]) Size() (values int, cost int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries), c.cost
}

// ranking is a heap of accounts, the one with the greatest cost first.
type ranking []*holder

func (r ranking) Len() int           { return len(r) }
func (r ranking) Less(i, j int) bool { return r[i].cost > r[j].cost }
func (r ranking) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].rank, r[j].rank = i, j
}

// Push implements heap.Interface.
func (r *ranking) Push(x any) {
	h := x.(*holder)
	h.rank = len(*r)
	*r = append(*r, h)
}

// Pop implements heap.Interface.
func (r *ranking) Pop() any {
	last := len(*r) - 1
	h := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return h
}
