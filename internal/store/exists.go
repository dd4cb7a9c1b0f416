package store

import "github.com/punctual-dev/punctual/internal/fault"

// PutIf is the condition of storing a record under a name.
type PutIf int

// The conditions of storing a record.
const (
	PutAlways  PutIf = iota
	PutIfNew         // there is none with its name
	PutIfThere       // there is one with its name
)

// Check returns a Stale fault if the condition does not hold for a thing that exists or
// not.
func (p PutIf) Check(thing string, exists bool) error {
	switch {
	case p == PutIfNew && exists:
		return Exists(thing)
	case p == PutIfThere && !exists:
		return Missing(thing)
	}
	return nil
}

// Exists returns the Stale fault for a change that requires that a thing does not exist.
func Exists(thing string) error {
	return fault.New(fault.Stale, "the "+thing+" exists already, which If-None-Match excludes; nothing was changed")
}

// Missing returns the Stale fault for a change that requires that a thing exists.
func Missing(thing string) error {
	return fault.New(fault.Stale, "there is no such "+thing+", so If-Match can't match; nothing was changed, leave it out to create one")
}
