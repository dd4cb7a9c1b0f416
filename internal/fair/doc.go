// Package fair bounds what accounts keep in memory together, so that no account
// displaces what belongs to others.
//
// Call [NewCache] for values of many accounts. When a cache is full, the account that
// holds the most loses the value that it has not used for longest. An account that holds
// little keeps it, whatever others put.
//
// Connections to targets, which are bounded by several measures at once, are kept by
// package execute by the same rule.
package fair
