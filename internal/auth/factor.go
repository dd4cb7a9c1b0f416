package auth

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// codeWithin is how long a person may take to enter the code after the
	// password.
	codeWithin = 10 * time.Minute
	// enrolWithin is how long a new secret may wait for its first code.
	enrolWithin = time.Hour
)

// HasTOTP reports whether signing in as a person requires a code.
func HasTOTP(a *identity.Person) bool { return a.TOTP != nil && !a.TOTP.ConfirmedAt.IsZero() }

// Enrolling reports whether a person's second factor awaits its first code.
func Enrolling(a *identity.Person, now time.Time) bool {
	return a.TOTP != nil && a.TOTP.ConfirmedAt.IsZero() && now.Sub(a.TOTP.CreatedAt) < enrolWithin
}

func wrongCode() error {
	return fault.New(fault.Unauthorized, "the code is wrong, or was used before; enter the one that your app shows now, or a recovery code")
}

func notOn() error {
	return fault.New(fault.Invalid, "the second factor is not switched on")
}

// attemptCode counts an attempt to enter a person's code. It is counted
// separately from password attempts, because the right password resets those.
func (p *People) attemptCode(email, address string) error {
	now := p.Now()
	if err := p.networks.allow(network(address), now); err != nil {
		return err
	}
	if err := p.codePairs.allow(pair(email, address), now); err != nil {
		return err
	}
	if p.codeHomes.has(pair(email, address)) {
		return nil
	}
	return p.codes.allow(email, now)
}

// rightCode records that a person's right code was entered from an address.
func (p *People) rightCode(email, address string) {
	p.codePairs.forget(pair(email, address))
	p.codeHomes.add(pair(email, address))
}

// useCode consumes a code of a person's second factor, or a recovery code. For a
// recovery code it returns how many are left, otherwise -1. It returns an
// Unauthorized fault if the code is wrong or the second factor is not enabled.
func (p *People) useCode(ctx context.Context, person uuid.UUID, typed string) (left int, err error) {
	code := bareCode(typed)
	now := p.Now()
	err = p.Store.PersonTOTP(ctx, person, func(current *identity.TOTP) (*identity.TOTP, error) {
		left = -1
		if current == nil || current.ConfirmedAt.IsZero() {
			return nil, wrongCode()
		}
		next := *current
		if step, ok := totpStepOf(current, code, now); ok {
			next.LastStep = step
			return &next, nil
		}
		hash := hashKey(code)
		next.Recovery = slices.DeleteFunc(slices.Clone(current.Recovery), func(h []byte) bool { return equal(h, hash) })
		if left = len(next.Recovery); left == len(current.Recovery) {
			return nil, wrongCode()
		}
		return &next, nil
	})
	return left, err
}

// GiveCode completes a sign-in that SignIn started: it exchanges the pending token
// and a code for a session's token. It returns an Unauthorized fault if the code is
// wrong, a NotFound fault if the pending sign-in has expired, and a TooMany fault
// after too many attempts.
func (p *People) GiveCode(ctx context.Context, pending, code string, from Client) (token string, err error) {
	s, err := p.Store.SessionFind(ctx, hashKey(pending), p.Now())
	if err == nil && (!s.Pending || !p.accepts(s)) {
		err = fault.NoSuch("sign-in")
	}
	if err != nil {
		return "", err
	}
	a, err := p.Store.PersonOf(ctx, s.Person)
	if err != nil {
		return "", err
	}
	if err := p.attemptCode(a.Email, from.Address); err != nil {
		return "", err
	}
	left := -1
	if HasTOTP(a) { // otherwise an operator just reset it
		if left, err = p.useCode(ctx, a.ID, code); err != nil {
			if fault.CodeOf(err) == fault.Unauthorized {
				p.failed(ctx, a, a.Email, from.Address, audit.SignInFailed, "the password was right, the code was wrong")
			}
			return "", err
		}
		p.rightCode(a.Email, from.Address)
	}
	p.homes.add(pair(a.Email, from.Address))
	if err := p.Store.SessionDelete(ctx, s.Hash); err != nil {
		return "", err
	}
	if left >= 0 {
		p.audit(ctx, a, from.Address, audit.RecoveryUsed, strconv.Itoa(left)+" recovery codes are left")
	}
	from.Provider = s.Provider
	return p.begin(ctx, a, from)
}

// confirmCode checks a code of a person's second factor before a change.
func (p *People) confirmCode(ctx context.Context, a *identity.Person, code, address string) error {
	if !HasTOTP(a) {
		return notOn()
	}
	if err := p.attemptCode(a.Email, address); err != nil {
		return err
	}
	left, err := p.useCode(ctx, a.ID, code)
	if err != nil {
		if fault.CodeOf(err) == fault.Unauthorized {
			p.failed(ctx, a, a.Email, address, audit.PasswordFailed, "the code was wrong")
			err = fault.Refuse([]fault.Problem{{Pointer: "#/code", Detail: "is wrong, or was used before"}})
		}
		return err
	}
	p.rightCode(a.Email, address)
	if left >= 0 {
		p.audit(ctx, a, address, audit.RecoveryUsed, strconv.Itoa(left)+" recovery codes are left")
	}
	return nil
}

// StartTOTP stores the secret of a new second factor, if the password is right.
// ConfirmTOTP enables it.
func (p *People) StartTOTP(ctx context.Context, a *identity.Person, password, address string) error {
	if err := p.confirm(ctx, a, password, address, "#/password"); err != nil {
		return err
	}
	return p.Store.PersonTOTP(ctx, a.ID, func(current *identity.TOTP) (*identity.TOTP, error) {
		if current != nil && !current.ConfirmedAt.IsZero() {
			return nil, fault.New(fault.Invalid, "the second factor is switched on already; switch it off first")
		}
		return &identity.TOTP{Secret: newTOTPSecret(), CreatedAt: p.Now()}, nil
	})
}

// ConfirmTOTP enables a second factor with its first code, ends the person's other
// sessions and returns the recovery codes, which can't be retrieved again.
func (p *People) ConfirmTOTP(ctx context.Context, a *identity.Person, here *identity.Session, typed,
	address string) (codes []string, err error) {
	if err := p.attemptCode(a.Email, address); err != nil {
		return nil, err
	}
	codes, hashes := newRecoveryCodes()
	now := p.Now()
	err = p.Store.PersonTOTP(ctx, a.ID, func(current *identity.TOTP) (*identity.TOTP, error) {
		switch {
		case current != nil && !current.ConfirmedAt.IsZero():
			return nil, fault.New(fault.Invalid, "the second factor is switched on already")
		case current == nil || now.Sub(current.CreatedAt) >= enrolWithin:
			return nil, fault.New(fault.Invalid, "this secret is too old; begin again")
		}
		step, ok := totpStepOf(current, bareCode(typed), now)
		if !ok {
			return nil, fault.Refuse([]fault.Problem{{Pointer: "#/code",
				Detail: "is not the one that your app should show now; check that its clock and this one are right"}})
		}
		next := *current
		next.ConfirmedAt, next.LastStep, next.Recovery = now, step, hashes
		return &next, nil
	})
	if err != nil {
		return nil, err
	}
	p.rightCode(a.Email, address)
	p.audit(ctx, a, address, audit.TOTPEnabled, "other sessions ended")
	if err := p.Store.SessionEndOthers(ctx, a.ID, here.Hash); err != nil {
		// Continue: the person must still see the codes.
		p.Log.Error("ending the other sessions of a person failed", "person", a.ID, "error", err)
	}
	return codes, nil
}

// DisableTOTP disables a second factor, if the password and a code are right.
func (p *People) DisableTOTP(ctx context.Context, a *identity.Person, password, code, address string) error {
	if err := p.confirm(ctx, a, password, address, "#/password"); err != nil {
		return err
	}
	if err := p.confirmCode(ctx, a, code, address); err != nil {
		return err
	}
	err := p.Store.PersonTOTP(ctx, a.ID, func(*identity.TOTP) (*identity.TOTP, error) { return nil, nil })
	if err == nil {
		p.audit(ctx, a, address, audit.TOTPDisabled, "")
	}
	return err
}

// ReplaceRecovery replaces the recovery codes and returns the new ones, if a code
// is right.
func (p *People) ReplaceRecovery(ctx context.Context, a *identity.Person, code, address string) (codes []string, err error) {
	if err := p.confirmCode(ctx, a, code, address); err != nil {
		return nil, err
	}
	codes, hashes := newRecoveryCodes()
	err = p.Store.PersonTOTP(ctx, a.ID, func(current *identity.TOTP) (*identity.TOTP, error) {
		if current == nil {
			return nil, notOn()
		}
		next := *current
		next.Recovery = hashes
		return &next, nil
	})
	if err != nil {
		return nil, err
	}
	p.audit(ctx, a, address, audit.RecoveryReplaced, "")
	return codes, nil
}

// ResetTOTP removes a person's second factor without a code, for operators. It
// returns an Invalid fault if there is none.
func ResetTOTP(ctx context.Context, s store.People, a *identity.Person) error {
	return s.PersonTOTP(ctx, a.ID, func(current *identity.TOTP) (*identity.TOTP, error) {
		if current == nil {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("%s has no second factor", a.Email))
		}
		return nil, nil
	})
}
