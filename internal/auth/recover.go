package auth

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/mailaddress"
)

const (
	// ConfirmPath, ResetPath and ChangePath begin the paths of the pages that links lead to. The token
	// follows.
	ConfirmPath = "/confirm-email/"
	ResetPath   = "/reset-password/"
	ChangePath  = "/change-email/"
)

const (
	// confirmLasts, also for a new email, and resetLasts are how long links work.
	confirmLasts = 24 * time.Hour
	resetLasts   = time.Hour
	// linkPrefix is the prefix of every token in a link.
	linkPrefix = "link_"
	// maxMailing is how many e-mails to people are sent at once. More are dropped: people
	// ask again.
	maxMailing = 16
	// mailWithin is how long looking up and sending may take.
	mailWithin = 20 * time.Second
)

// MailLink sends a link for a purpose to an address of a person, with a fixed text.
type MailLink func(ctx context.Context, to mailaddress.Address, purpose identity.Purpose, link string) error

// mailing sends links in the background, so that nobody learns from how long a response
// takes whether there was anything to send.
type mailing struct {
	places chan struct{}
	under  sync.WaitGroup
	// E-mails are counted by mailbox, and all together.
	mailboxes, all *throttle
}

func newMailing() *mailing {
	return &mailing{places: make(chan struct{}, maxMailing), mailboxes: newThrottle(3, time.Hour), all: newThrottle(100, time.Second)}
}

// Mails reports whether people get links by e-mail.
func (p *People) Mails() bool { return p.Mail != nil && p.PublicURL != nil && !p.NoPasswords }

// Close waits until what is being sent was sent.
func (p *People) Close() { p.mailing.under.Wait() }

// later does something in the background, within a time. It drops it if too much is under
// way.
func (p *People) later(ctx context.Context, do func(context.Context) error) {
	select {
	case p.mailing.places <- struct{}{}:
	default:
		p.Log.Warn("an e-mail to a person was not sent: too many are being sent")
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mailWithin)
	p.mailing.under.Go(func() {
		defer func() {
			cancel()
			<-p.mailing.places
		}()
		if err := fault.Guard(func() error { return do(ctx) }); err != nil {
			p.Log.Warn("sending an e-mail to a person failed", "error", err)
		}
	})
}

// send sends a link with a new token to an email, unless the mailbox has got too many.
func (p *People) send(ctx context.Context, email string, m identity.MailToken, path string, lasts time.Duration) error {
	to, ok := mailaddress.Parse(email)
	now := p.Now()
	if !ok || p.mailing.mailboxes.allow(to.Mailbox(), now) != nil {
		return nil
	}
	if err := p.mailing.all.allow("", now); err != nil {
		return err
	}
	token := newToken(linkPrefix)
	m.Hash, m.ExpiresAt = hashKey(token), now.Add(lasts)
	if err := p.Store.MailTokenPut(ctx, &m); err != nil {
		return err
	}
	return p.mail(ctx, to, m.Purpose, path+token)
}

// mail sends a link to a path of this service.
func (p *People) mail(ctx context.Context, to mailaddress.Address, purpose identity.Purpose, path string) error {
	return p.Mail(ctx, to, purpose, strings.TrimSuffix(p.PublicURL.String(), "/")+path)
}

func (p *People) sendConfirmation(ctx context.Context, person *identity.Person) {
	p.later(ctx, func(ctx context.Context) error {
		return p.send(ctx, person.Email, identity.MailToken{Person: person.ID, Purpose: identity.ForConfirmation}, ConfirmPath, confirmLasts)
	})
}

// ForgotPassword sends a link to set a password to the person with an email, if there is
// one. Neither the result nor how long it takes reveals that. It returns a TooMany fault
// after too many attempts from a network.
func (p *People) ForgotPassword(ctx context.Context, email, address string) error {
	if !p.Mails() {
		return errNoLinks
	}
	if err := p.resets.allow(network(address), p.Now()); err != nil {
		return err
	}
	if len(email) > mailaddress.MaxLength {
		return nil
	}
	p.later(ctx, func(ctx context.Context) error {
		person, err := PersonByEmail(ctx, p.Store, email)
		switch {
		case err != nil && fault.CodeOf(err) == fault.NotFound:
			return nil
		case err != nil:
			return err
		case person.Password == "" && len(person.Identities) > 0:
			return nil // who signs in at the provider gets no second way in
		}
		return p.send(ctx, person.Email, identity.MailToken{Person: person.ID, Purpose: identity.ForReset}, ResetPath, resetLasts)
	})
	return nil
}

var (
	errNoLinks = fault.New(fault.NotFound, "There is no page at this address.")
	errOldLink = fault.New(fault.NotFound, "This link is not known: it was used, or a newer one was sent, or it has expired. Ask for another.")
)

// linkHash returns the hash of a token, nil if it can't be one.
func linkHash(token string) []byte {
	if !strings.HasPrefix(token, linkPrefix) || len(token) > len(linkPrefix)+64 {
		return nil
	}
	return hashKey(token)
}

// Linked returns the person whom the link with a token is for, with the email that it was
// sent to, or a NotFound fault.
func (p *People) Linked(ctx context.Context, purpose identity.Purpose, token string) (person *identity.Person, email string, err error) {
	if !p.Mails() {
		return nil, "", errNoLinks
	}
	hash := linkHash(token)
	if hash == nil {
		return nil, "", errOldLink
	}
	m, err := p.Store.MailTokenFind(ctx, hash, purpose, p.Now())
	if err == nil {
		person, err = p.Store.PersonOf(ctx, m.Person)
	}
	if err != nil {
		return nil, "", oldLink(err)
	}
	return person, cmp.Or(m.Email, person.Email), nil
}

// oldLink replaces a NotFound fault.
func oldLink(err error) error {
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return errOldLink
	}
	return err
}

// ResetPassword sets the password of whom the link with a token was sent to, and ends all
// their sessions. It returns a NotFound fault if the link does not work any more, and an
// Invalid fault if the password isn't one.
func (p *People) ResetPassword(ctx context.Context, token, password, address string) error {
	person, _, err := p.Linked(ctx, identity.ForReset, token)
	if err != nil {
		return err
	}
	if err := p.networks.allow(network(address), p.Now()); err != nil {
		return err
	}
	if err := fault.Refuse(checkPassword(person.Email, password, "#/password")); err != nil {
		return err
	}
	hash, err := p.hashes.hash(ctx, network(address), password)
	if err != nil {
		return err
	}
	err = p.Store.MailTokenUse(ctx, &identity.MailTokenUse{Hash: linkHash(token), Purpose: identity.ForReset, At: p.Now(), Password: hash})
	if err != nil {
		return oldLink(err)
	}
	p.audit(ctx, person, address, audit.PasswordChanged, "by a link that was sent by e-mail; all sessions ended")
	return nil
}

// ConfirmEmail records that whom the link with a token was sent to owns the email, if the
// password is theirs too: somebody else may have signed up with the address. It then signs
// in. It returns the faults of SignIn, and a NotFound fault if the link does not work any
// more.
func (p *People) ConfirmEmail(ctx context.Context, token, password string, from Client) (in SignedIn, err error) {
	person, _, err := p.Linked(ctx, identity.ForConfirmation, token)
	if err != nil {
		return in, err
	}
	if err := p.confirm(ctx, person, password, from.Address, "#/password"); err != nil {
		return in, err
	}
	if err := p.Store.MailTokenUse(ctx, &identity.MailTokenUse{Hash: linkHash(token), Purpose: identity.ForConfirmation,
		At: p.Now()}); err != nil {
		return in, oldLink(err)
	}
	p.audit(ctx, person, from.Address, audit.EmailConfirmed, person.Email)
	return p.SignIn(ctx, person.Email, password, from)
}

// mustConfirm returns a Forbidden fault if a person must confirm their email before they
// sign in, and sends the link again.
func (p *People) mustConfirm(ctx context.Context, person *identity.Person) error {
	if person.EmailState != identity.EmailPending || !p.Mails() {
		return nil
	}
	p.sendConfirmation(ctx, person)
	return fault.New(fault.Forbidden, "confirm your email address first: open the link in the e-mail that was sent there")
}

// signUpAgain lets a person who has not confirmed their email sign up again: the last
// password counts, since the first may be that of somebody else.
func (p *People) signUpAgain(ctx context.Context, email, hash string) error {
	person, err := PersonByEmail(ctx, p.Store, email)
	switch {
	case err != nil && fault.CodeOf(err) == fault.NotFound:
		return nil // an account has the email, but nobody signs in with it
	case err != nil || person.EmailState != identity.EmailPending || !p.Mails():
		return err
	}
	if err := p.Store.PersonPassword(ctx, identity.PasswordChange{Person: person.ID, Password: hash}); err != nil {
		return err
	}
	p.sendConfirmation(ctx, person)
	return nil
}

// AskToConfirm sends a link to confirm their email to who is signed in. It returns an
// Invalid fault if that is done, or nothing is sent.
func (p *People) AskToConfirm(ctx context.Context, v *Visit) error {
	if !p.Mails() || v.Person.EmailState == identity.EmailConfirmed || v.Person.Password == "" {
		return fault.New(fault.Invalid, "there is nothing to confirm")
	}
	p.sendConfirmation(ctx, v.Person)
	return nil
}
