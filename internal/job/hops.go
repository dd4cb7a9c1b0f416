package job

import (
	"context"
	"strconv"
)

// HopsField names the header field that counts how many jobs made one another
// up to a request: 1 on the request of a job that no job created.
const HopsField = "X-Punctual-Hops"

// MaxHops is the count from which on a request may not create jobs. Without it
// a job that calls this service could keep itself going for ever.
const MaxHops = 3

type hopsKey struct{}

// WithHops notes the count that a call came with, as HopsField has it. What
// can't be read counts as MaxHops.
func WithHops(ctx context.Context, field string) context.Context {
	hops, err := strconv.Atoi(field)
	if err != nil || hops < 0 || hops > MaxHops {
		hops = MaxHops
	}
	return context.WithValue(ctx, hopsKey{}, hops)
}

// Hops returns the count that the call came with; 0 when it had none.
func Hops(ctx context.Context) int {
	hops, _ := ctx.Value(hopsKey{}).(int)
	return hops
}
