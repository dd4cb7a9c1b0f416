package consent

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/notify"
)

// links has the subject and the text around the link of the e-mails for each purpose.
// Nothing in them is written by anybody.
var links = map[identity.Purpose]struct{ subject, before, after string }{
	identity.ForConfirmation: {
		"Please confirm your email address",
		"Somebody has signed up with this address at the service at ",
		"The link works for 24 hours, and asks for the password that was chosen. If it wasn't you, ignore this e-mail: nobody can sign in with this address then.",
	},
	identity.ForChange: {
		"Confirm your new email address",
		"Somebody wants to sign in with this address, in place of another one, at the service at ",
		"The link works for 24 hours, and asks for the password. If it wasn't you, ignore this e-mail: nothing changes then.",
	},
	identity.ForNotice: {
		"Your email address was changed",
		"The address that you sign in with was changed from this one to another one at the service at ",
		"If it wasn't you, write to the operator of the service.",
	},
	identity.ForReset: {
		"Set a new password",
		"Somebody has asked for a new password for this address at the service at ",
		"The link works once, for an hour. If it wasn't you, ignore this e-mail: the password stays as it is.",
	},
}

// Link sends a link for a purpose to an address of a person, unless the owner of the
// mailbox has refused the service's e-mails. The caller bounds how many it sends.
func (g *Gate) Link(ctx context.Context, to mailaddress.Address, purpose identity.Purpose, link string) error {
	if g.PublicURL == nil || !reachable(to) {
		return nil
	}
	_, refused, err := g.Store.RecipientGet(ctx, 0, to.String(), to.Mailbox())
	if err != nil || refused {
		return err
	}
	text := links[purpose]
	outcome := g.Mail.Send(ctx, to.String(), "link_"+uuid.NewString(), notify.Letter{
		Subject: text.subject, Text: text.before + g.PublicURL.String() + ". To go on, open:\n\n" + link + "\n\n" + text.after,
	})
	if outcome.Failure != nil {
		return errors.New(outcome.Failure.Message)
	}
	return nil
}
