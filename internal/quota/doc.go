// Package quota is what an account, and a caller without one, may use: how many
// calls a second, and how much it may hold.
//
// Meter measures rates by key in fixed memory, so that a caller with many
// addresses can neither make it grow nor evict what is known of others. Book
// resolves the limits of an account (its own, else the service's) and measures
// how many bytes its records take up. What counts records exactly, inside the
// transaction that stores them, is the store: see store.Caps.
//
// Rates hold on each node by itself; limits on what is held, over all nodes.
package quota
