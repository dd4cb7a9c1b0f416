package consent

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/notify"
)

// Invite sends the link of an invitation to an account, unless the owner of the mailbox
// has refused the service's e-mails. The caller bounds how many it sends. Nothing in the
// e-mail is written by an account.
func (g *Gate) Invite(ctx context.Context, owner job.Owner, to mailaddress.Address, link string) {
	if g.PublicURL == nil || !reachable(to) {
		return
	}
	// Who has invited may have gone; what was stored must be sent.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendWithin)
	defer cancel()
	_, refused, err := g.Store.RecipientGet(ctx, owner.Number, to.String(), to.Mailbox())
	switch {
	case err != nil:
		g.Log.Warn("sending an invitation by e-mail failed", "account", owner.ID, "error", err)
	case !refused:
		outcome := g.Mail.Send(ctx, to.String(), "invite_"+uuid.NewString(), notify.Letter{
			Subject: "You are invited to an account",
			Text: "An account of the service at " + g.PublicURL.String() + " invites the owner of this address.\n\n" +
				"To see which account it is, and to accept, open:\n\n" + link + "\n\n" +
				"The link works once, for 7 days. If you don't know why you get it, ignore it.",
		})
		if outcome.Failure != nil {
			g.Log.Warn("sending an invitation by e-mail failed", "account", owner.ID, "error", outcome.Failure.Message)
		}
	}
}
