package view

import (
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

// Members is the page of who belongs to an account.
type Members struct {
	Account       string // its email
	Admin         bool   // the viewer may invite
	All           []Member
	Roles         []ui.Choice // that the viewer may give
	Link, LinkFor string      // of an invitation, shown once, and whom it is for
	Notice        string

	Refusal
}

// Member is a person in an account, or an invitation.
type Member struct {
	ID, Email, Role string
	Invited, Self   bool
	Changeable      bool // by the viewer
	Since           time.Time
	Until           time.Time // when an invitation expires
}

// Invitation is the page that the link of an invitation leads to.
type Invitation struct {
	Email, Role, Account, Path string
	// Provider is the address that begins a sign-in at the provider; "" without one.
	Provider    string
	NoPasswords bool   // nobody signs in by a password
	Known       bool   // the email has a person, who signs in
	SignedIn    string // the email of who is signed in; "" for nobody
	Err         error  // why the form was refused
}

// asSignIn returns the form's problem as the pages for signing in show it.
func (i *Invitation) asSignIn() *SignIn { return &SignIn{Err: i.Err, To: i.Path} }
