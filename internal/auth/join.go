package auth

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// Invitation is an invitation to an account, as whoever has its link sees it.
type Invitation struct {
	Email   string // of whom it is for
	Role    identity.Role
	Account string // the account's email
	// Known reports that the email has a person already, who accepts by signing in.
	Known bool
}

var errNoInvitation = fault.New(fault.NotFound, "This invitation is not known: it was used or withdrawn, or it has expired. Ask for another.")

// joinHash returns the hash of an invitation's code, nil if it can't be one.
func joinHash(code string) []byte {
	if !strings.HasPrefix(code, joinPrefix) || len(code) > 2*len(joinPrefix)+64 {
		return nil
	}
	return hashKey(code)
}

// Invitation returns the invitation whose link has a code, or a NotFound fault.
func (p *People) Invitation(ctx context.Context, code string) (*Invitation, error) {
	m, err := p.Store.MemberInvited(ctx, joinHash(code), p.Now())
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return nil, errNoInvitation
	}
	if err != nil {
		return nil, err
	}
	a, err := p.Store.AccountOf(ctx, m.Account)
	if err != nil {
		return nil, err
	}
	_, err = p.Store.PersonGet(ctx, m.Email)
	known := err == nil
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		err = nil
	}
	return &Invitation{Email: m.Email, Role: m.Role, Account: a.Email, Known: known}, err
}

// Join accepts an invitation for somebody who has no password yet, and returns the token
// of a session in the account. It returns a NotFound fault if the invitation isn't valid,
// an Invalid fault if the password isn't or the email has a person already, and a TooMany
// fault after too many attempts.
func (p *People) Join(ctx context.Context, code, password string, from Client) (token string, err error) {
	if p.NoPasswords {
		return "", errNoPasswords
	}
	if err := p.signups.allow(network(from.Address), p.Now()); err != nil {
		return "", err
	}
	i, err := p.Invitation(ctx, code)
	if err != nil {
		return "", err
	}
	if i.Known {
		return "", fault.New(fault.Invalid, "somebody with the email "+i.Email+" can sign in already; sign in to accept")
	}
	if err := fault.Refuse(checkPassword(i.Email, password, "#/password")); err != nil {
		return "", err
	}
	hash, err := p.hashes.hash(ctx, network(from.Address), password)
	if err != nil {
		return "", err
	}
	person := &identity.Person{ID: uuid.New(), Email: i.Email, CreatedAt: p.Now(), Password: hash}
	if _, err := p.accept(ctx, code, person, true, from.Address); err != nil {
		return "", err
	}
	return p.begin(ctx, person, from)
}

// Accept accepts an invitation for the person of a visit, whose session then shows the
// account. It returns a Forbidden fault if the invitation is for another email, and a
// Conflict fault if the person belongs to too many accounts.
func (p *People) Accept(ctx context.Context, v *Visit, code, address string) error {
	account, err := p.accept(ctx, code, v.Person, false, address)
	if err != nil {
		return err
	}
	return p.Store.SessionSwitch(ctx, v.Session.Hash, account)
}

// accept makes a person a member of an account, and returns its number.
func (p *People) accept(ctx context.Context, code string, person *identity.Person, isNew bool, address string) (account int64, err error) {
	return p.acceptAs(ctx, &identity.Acceptance{Hash: joinHash(code), Person: person, New: isNew, At: p.Now()}, address)
}

func (p *People) acceptAs(ctx context.Context, acceptance *identity.Acceptance, address string) (account int64, err error) {
	member, err := p.Store.MemberAccept(ctx, acceptance)
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return 0, errNoInvitation
	}
	if err != nil {
		return 0, err
	}
	a, err := p.Store.AccountOf(ctx, member.Account)
	if err != nil {
		return 0, err
	}
	p.Audit.Audit(ctx, audit.Entry{
		Account: a.Owner, Actor: bySession(acceptance.Person.Email, address), Event: audit.MemberJoined,
		Detail: member.Email + ", role " + string(member.Role),
	})
	return a.Number, nil
}
