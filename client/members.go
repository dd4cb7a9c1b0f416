package client

import (
	"context"
	"iter"
	"net/http"
)

// Role is what a person may do in an account: viewer, editor, admin or owner. Each role
// includes those before it.
type Role string

// The roles.
const (
	RoleViewer Role = "viewer" // see jobs, schedules and logs
	RoleEditor Role = "editor" // change jobs and schedules
	RoleAdmin  Role = "admin"  // keys, secrets and people
	RoleOwner  Role = "owner"  // owners, and the account itself
)

// Member is a person in an account, or an invitation.
type Member struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	Role  Role   `json:"role"`
	// State is member, or invited until the invitation is accepted.
	State string `json:"state"`
	// Link leads to where the person accepts. Only InviteMember returns it.
	Link string `json:"link"`
}

// NewMember says whom to invite.
type NewMember struct {
	Email string `json:"email"`
	Role  Role   `json:"role"`
}

// MemberChange is the new role of a person or an invitation.
type MemberChange struct {
	Role Role `json:"role"`
}

// ListMembers iterates over the persons and invitations of the account, ordered by email.
func (c *Client) ListMembers(ctx context.Context) iter.Seq2[Member, error] {
	return list[Member](ctx, c, "/api/account/members", Page{}.values())
}

// InviteMember invites a person. It fails with status 409 if the person is a member
// already.
func (c *Client) InviteMember(ctx context.Context, member NewMember) (*Member, error) {
	return fetch[Member](ctx, c, call{method: http.MethodPost, path: "/api/account/members", body: member, once: true})
}

// ChangeMember changes the role of a person or an invitation. It fails with status 409
// for the last owner.
func (c *Client) ChangeMember(ctx context.Context, id string, change MemberChange) (*Member, error) {
	return fetch[Member](ctx, c, call{method: http.MethodPatch, path: "/api/account/members" + element(id), body: change})
}

// RemoveMember removes a person or withdraws an invitation. It fails with status 409 for
// the last owner.
func (c *Client) RemoveMember(ctx context.Context, id string) error {
	return c.delete(ctx, "/api/account/members"+element(id))
}
