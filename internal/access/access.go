package access

import (
	"context"
	"fmt"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

type caller struct {
	role identity.Role
	key  bool
}

type callerKey struct{}

// With returns the context of a call by a person with a role.
func With(ctx context.Context, role identity.Role) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{role: role})
}

// WithKey returns the context of a call with a key that permits what a role does.
func WithKey(ctx context.Context, role identity.Role) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{role, true})
}

// Role returns the role of who makes a call: an owner's, if it is the service itself.
func Role(ctx context.Context) identity.Role {
	if c, ok := ctx.Value(callerKey{}).(caller); ok {
		return c.role
	}
	return identity.RoleOwner
}

// Allow returns a Forbidden fault unless the caller's role permits a method of Least.
func Allow(ctx context.Context, method string) error {
	least, ok := Least[method]
	if !ok {
		return fmt.Errorf("access: the table has no %s", method)
	}
	return Need(ctx, least)
}

// Need returns a Forbidden fault unless the caller has a role.
func Need(ctx context.Context, least identity.Role) error {
	c, ok := ctx.Value(callerKey{}).(caller)
	switch {
	case !ok || c.role.Includes(least):
		return nil
	case c.key:
		return fault.New(fault.Forbidden, fmt.Sprintf(
			"this needs what the role %s permits, and this key permits what the role %s does; use another key", least, c.role))
	}
	return fault.New(fault.Forbidden, fmt.Sprintf(
		"this needs the role %s in this account, and yours is %s; an admin of the account can change it", least, c.role))
}
