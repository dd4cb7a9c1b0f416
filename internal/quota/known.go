package quota

import "sync"

// Known remembers a bounded number of keys, the latest ones for certain.
type Known[K comparable] struct {
	mu            sync.Mutex
	recent, older map[K]struct{}
}

// maxKnown is how many keys a generation has; of two, the older is forgotten
// when the younger is full.
const maxKnown = 20_000

// Add remembers a key.
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

// Has reports whether a key is remembered.
func (k *Known[K]) Has(key K) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, recent := k.recent[key]
	_, older := k.older[key]
	return recent || older
}

// Remove forgets a key.
func (k *Known[K]) Remove(key K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.recent, key)
	delete(k.older, key)
}
