package store

import "context"

type routineKey struct{}

// Routine marks a call as the regular look of a loop that nothing has announced work to.
// A Store may answer that there is nothing from what it read up to a second ago, so that
// an idle node asks for little. Calls of clients and after notices are never marked.
func Routine(ctx context.Context) context.Context {
	return context.WithValue(ctx, routineKey{}, true)
}

// IsRoutine reports whether a call is marked by [Routine].
func IsRoutine(ctx context.Context) bool { return ctx.Value(routineKey{}) != nil }
