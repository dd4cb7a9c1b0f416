// Package quota implements limits of accounts and of anonymous callers: [Meter] for
// calls per second, and [Book] for stored records.
//
// Meter measures rates by key in fixed memory, so that a caller with many
// addresses can neither make it grow nor evict other callers. Book resolves the
// limits of an account (its own, else the service's) and measures how many bytes
// its records use. The store itself counts records exactly, in the transaction
// that stores them: see store.Caps.
//
// Rates apply per node, limits on stored records across all nodes.
package quota
