package quota

import "sync"

// Known is a bounded set of keys, which always contains the latest ones.
type Known[K comparable] struct {
	mu            sync.Mutex
	recent, older map[K]struct{}
}

// maxKnown is the size of a generation of keys. There are two; when the younger
// is full, the older is dropped.
const maxKnown = 20_000

// Add adds a key.
func (k *Known[K]) Add(key K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.recent[key]; known {
		return
	}
	if k.recent == nil || len(k.recent) >= maxKnown {
		k.recent, k.older = map[K]struct{}{}, k.recent
	}
	k.recent[key] = struct{}{}
}

// Has reports whether the set contains a key.
func (k *Known[K]) Has(key K) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, recent := k.recent[key]
	_, older := k.older[key]
	return recent || older
}

// Remove removes a key.
func (k *Known[K]) Remove(key K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.recent, key)
	delete(k.older, key)
}
