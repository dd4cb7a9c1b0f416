package consent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// Path begins the path of the page that a link leads to. The token follows.
	Path = "/alert-mail/"
	// tokenBytes is how many random bytes a token has.
	tokenBytes = 32
	// sendWithin is how long sending a question may take.
	sendWithin = 10 * time.Second
)

// Ask asks those of some addresses that must confirm, have not, and may be asked now.
// byPerson says that a person asks for it, rather than a program that stores an alert.
func (g *Gate) Ask(ctx context.Context, owner job.Owner, addresses []string, byPerson bool) error {
	// Who has asked may have gone; what was stored must be sent.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendWithin)
	defer cancel()
	var sending sync.WaitGroup
	defer sending.Wait()
	for _, text := range addresses {
		address, ok := mailaddress.Parse(text)
		if !ok || !reachable(address) || g.PublicURL == nil || g.Mail == nil {
			continue
		}
		required, err := g.required(ctx, owner.Number, address)
		if err != nil {
			return err
		}
		if !required {
			continue
		}
		token := newToken()
		before, asks, err := g.change(ctx, owner.Number, address, func(m *store.RecipientSnapshot) *store.RecipientChange {
			return ask(m, hashOf(token), byPerson)
		})
		if err != nil {
			return err
		}
		if asks {
			sending.Go(func() { g.send(ctx, owner, address, token, before) })
		}
	}
	return nil
}

// change changes a recipient. It returns the recipient before, and whether something
// has changed.
func (g *Gate) change(ctx context.Context, account int64, a mailaddress.Address,
	decide store.RecipientDecide) (before *store.Recipient, changed bool, err error) {
	since := g.Store.Now().Add(-askEvery)
	err = g.Store.RecipientChange(ctx, account, a.String(), a.Mailbox(), since, func(m *store.RecipientSnapshot) *store.RecipientChange {
		change := decide(m)
		before, changed = m.Recipient, change != nil
		return change
	})
	return before, changed && err == nil, err
}

// send sends a question. If nothing was sent, since the mail server could not be reached
// or has not responded in time, it counts as not asked; if the server has refused the
// e-mail, it counts, since addresses could be guessed otherwise.
func (g *Gate) send(ctx context.Context, owner job.Owner, to mailaddress.Address, token string, before *store.Recipient) {
	outcome := g.Mail.Send(ctx, to.String(), "confirm_"+uuid.NewString(), g.letter(token))
	if outcome.Failure == nil {
		return
	}
	g.Log.Warn("asking for a confirmation of alerts by e-mail failed", "account", owner.ID, "error", outcome.Failure.Message)
	if !outcome.Failure.Unsent {
		return
	}
	_, _, err := g.change(context.WithoutCancel(ctx), owner.Number, to, func(m *store.RecipientSnapshot) *store.RecipientChange {
		if m.Recipient == nil || string(m.Recipient.Token) != string(hashOf(token)) {
			return nil
		}
		return &store.RecipientChange{Recipient: before}
	})
	if err != nil {
		g.Log.Warn("recording that nobody was asked failed", "account", owner.ID, "error", err)
	}
}

// letter returns the question. Nothing in it is written by an account: whoever signs up
// could have it sent to anyone.
func (g *Gate) letter(token string) notify.Letter {
	return notify.Letter{
		Subject: "Please confirm alerts by e-mail",
		Text: "An account of the service at " + g.PublicURL.String() + " asks to send alerts to this address.\n\n" +
			"Nothing more is sent unless you confirm. To see which account asks, and to confirm or to refuse, open:\n\n" +
			g.link(token) + "\n\n" +
			"The link works for 7 days. If you confirm, keep this e-mail: the link then ends the alerts at any time. If you don't know why you get it, " +
			"ignore it, or open the link and choose never to get e-mails of this service again.",
	}
}

func newToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

func hashOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// Question is a question to the owner of an address, and the answer so far.
type Question struct {
	Address string
	// Asker is the email of the account that asks, or "(deleted)". Anyone may have entered it.
	Asker string
	State State // Waiting, Confirmed or Refused
}

// Question returns the question whose link has a token, or a NotFound fault.
func (g *Gate) Question(ctx context.Context, token string) (*Question, error) {
	r, err := g.find(ctx, token)
	if err != nil {
		return nil, err
	}
	a, err := g.Account(ctx, r.Account)
	if err != nil {
		return nil, err
	}
	q := &Question{Address: r.Address, Asker: a.Email, State: Waiting}
	if !a.DeletedAt.IsZero() {
		q.Asker = "(deleted)"
	}
	switch {
	case !r.RefusedAt.IsZero():
		q.State = Refused
	case !r.ConfirmedAt.IsZero():
		q.State = Confirmed
	}
	return q, nil
}

// Answer records what the owner of an address has chosen: to get the alerts of the
// account that asks, or no e-mails of any account. It returns a NotFound fault if the
// link does not work any more. When the account was deleted, there is nothing to confirm,
// and what would be stored would stay forever; a refusal still holds.
func (g *Gate) Answer(ctx context.Context, token string, confirm bool) error {
	r, err := g.find(ctx, token)
	if err != nil {
		return err
	}
	if confirm {
		_, err := g.account(ctx, r.Account)
		switch {
		case fault.CodeOf(err) == fault.NotFound:
			return errGone
		case err != nil:
			return err
		}
	}
	return g.Store.RecipientChange(ctx, r.Account, r.Address, r.Mailbox, time.Time{},
		func(m *store.RecipientSnapshot) *store.RecipientChange {
			return answer(m, hashOf(token), confirm)
		})
}

var errGone = fault.New(fault.NotFound, "This link is not known, or it has expired. Nothing is sent to you unless you confirm.")

// find returns the recipient whose link has a token, or a NotFound fault.
func (g *Gate) find(ctx context.Context, token string) (*store.Recipient, error) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return nil, errGone
	}
	r, err := g.Store.RecipientFind(ctx, hashOf(token))
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	if r.ConfirmedAt.IsZero() && r.RefusedAt.IsZero() && g.Store.Now().Sub(r.AskedAt) >= store.RecipientLasts {
		return nil, errGone
	}
	return r, nil
}
