package dispatch

import (
	"maps"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/store"
)

// node returns the number of this process's node.
func (r *registry) node() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lease.node
}

// nodes returns what is known of this process's node and the others.
func (r *registry) nodes() lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lease
}

// heartbeat takes in what a heartbeat returned.
func (r *registry) heartbeat(nodes []int64, notificationsDown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease.nodes, r.lease.notificationsDown = nodes, notificationsDown
}

// noHeartbeat notes that a heartbeat failed: as far as is known, notices of
// other nodes don't arrive either, and for a while after the store is back.
func (r *registry) noHeartbeat() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lease.notificationsDown = true
}

// reregister replaces the node whose lease has expired. None of its claims is
// fired any more; reregister returns them and the old node, to be released.
func (r *registry) reregister(node int64) (old int64, stale []store.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, r.lease.node = r.lease.node, node
	for _, e := range r.known {
		if e.phase == phaseHeld && e.node == old && !e.gone {
			e.gone = true
			stale = append(stale, e.claim)
		}
	}
	return old, stale
}

// drain forgets all held items and returns the claims that are to be released,
// and their node.
func (r *registry) drain() (node int64, claims []store.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.known {
		if e.phase != phaseHeld {
			continue
		}
		if e.node == r.lease.node && !e.gone {
			claims = append(claims, e.claim)
		}
		r.remove(e, nil)
	}
	return r.lease.node, claims
}

// block sets the blocked accounts: attempts of theirs are interrupted, held
// items gone. It returns the claims that are to be released, and their node.
// changed reports whether the set is another one, unblocked whether it lacks an
// account that it had.
func (r *registry) block(accounts map[int64]bool) (node int64, stale []store.Claim, changed, unblocked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if maps.Equal(accounts, r.blocked) {
		return 0, nil, false, false
	}
	for account := range r.blocked {
		unblocked = unblocked || !accounts[account]
	}
	r.blocked, r.blockedNew = accounts, true
	for _, e := range r.known {
		if !accounts[e.ref.Account] {
			continue
		}
		switch {
		case e.phase == phaseFired:
			e.abort(execute.ErrInterrupted)
		case e.phase == phaseHeld && !e.gone:
			e.gone = true
			if e.node == r.lease.node {
				stale = append(stale, e.claim)
			}
		}
	}
	return r.lease.node, stale, true, unblocked
}

// blockedAccounts returns the blocked accounts, which must not be changed.
func (r *registry) blockedAccounts() map[int64]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocked
}

// takeBlocked returns the blocked accounts if they have changed since the last
// call, else nil.
func (r *registry) takeBlocked() map[int64]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.blockedNew {
		return nil
	}
	r.blockedNew = false
	return r.blocked
}
