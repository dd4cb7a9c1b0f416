package store

import "github.com/punctual-dev/punctual/internal/fault"

// Exists returns the Stale fault for storing a thing that must be new and is not.
func Exists(thing string) error {
	return fault.New(fault.Stale, "the "+thing+" exists already, which If-None-Match excludes; nothing was changed")
}
