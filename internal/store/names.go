package store

import (
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// NameKind is what a Name names.
type NameKind int16

// The kinds of names. Stores use the numbers in statements.
const (
	NamesGroup NameKind = iota
	NamesLimit
	NamesSecret
)

// Name is a group, a limit or a secret that a job or a schedule names.
type Name struct {
	Kind NameKind
	Name string
}

// ErrNameGone is returned for what was not stored because a record that it names has been
// deleted since its request was read. Who reads the request again gets the fault for an
// unknown name.
var ErrNameGone error = &fault.Error{Code: fault.Unavailable,
	Message:    "a group, limit or secret that the request names was deleted just now; nothing was stored, try again shortly",
	RetryAfter: time.Second}

// NamesOf returns what a job or a schedule with these args names.
func NamesOf(args []byte, hidden *job.Hidden) []Name {
	var names []Name
	if group := job.GroupNamed(args); group != "" {
		names = append(names, Name{NamesGroup, group})
	}
	for _, key := range job.LimitsNamed(args) {
		names = append(names, Name{NamesLimit, key})
	}
	for _, name := range job.SecretNames(&job.Job{Args: args, Hidden: *hidden}) {
		names = append(names, Name{NamesSecret, name})
	}
	return names
}

// NamesAdded returns what only the second of two records names. What the first names is
// known, or was deleted while nothing used it.
func NamesAdded(before, after []Name) []Name {
	return slices.DeleteFunc(after, func(n Name) bool { return slices.Contains(before, n) })
}

// NamesIn returns what the records name that changes add.
func (c *Changes) NamesIn() []Name {
	if c.Next == nil {
		return c.Names
	}
	return slices.Concat(c.Names, c.Next.Names)
}
