package job

import (
	"context"
	"strconv"
	"strings"
)

// ownPrefix begins the names of the header fields that belong to the service.
const ownPrefix = "X-Punctual-"

// IsOwnField reports whether a header field of a request is set by the service only.
func IsOwnField(name string) bool {
	return len(name) >= len(ownPrefix) && strings.EqualFold(name[:len(ownPrefix)], ownPrefix)
}

// HopsField names the header field with the length of the chain of jobs that
// created one another: 1 on the request of a job that no other job created.
const HopsField = "X-Punctual-Hops"

// MaxHops is the count at which a request may no longer create jobs. Without it,
// a job that calls this service could create jobs forever.
const MaxHops = 3

type hopsKey struct{}

// WithHops returns a context with the count in a call's HopsField. An invalid
// value counts as MaxHops.
func WithHops(ctx context.Context, field string) context.Context {
	hops, err := strconv.Atoi(field)
	if err != nil || hops < 0 || hops > MaxHops {
		hops = MaxHops
	}
	return context.WithValue(ctx, hopsKey{}, hops)
}

// Hops returns the count that WithHops stored, or 0 if there is none.
func Hops(ctx context.Context) int {
	hops, _ := ctx.Value(hopsKey{}).(int)
	return hops
}

// MayForward reports whether a job can have a header field with a name: fields that
// belong to the connection, and the service's own, are set by the service.
func MayForward(name string) bool { return !belongsToConnection(name) && !IsOwnField(name) }
