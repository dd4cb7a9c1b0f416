package consent

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/store"
)

// Store is what a Gate needs of the store.
type Store interface {
	store.Recipients
	Now() time.Time
}

// Mailer sends e-mails.
type Mailer interface {
	// Send sends an e-mail. A Response with a 2xx status means that the mail server
	// has taken it. The id is the same for every try.
	Send(ctx context.Context, to, id string, letter notify.Letter) job.Outcome
}

// Config configures a Gate.
type Config struct {
	Store Store
	// Account returns an account by its number, also a deleted one, or a NotFound fault.
	Account func(ctx context.Context, number int64) (*identity.Account, error)
	Mail    Mailer
	// Open: anyone may sign up.
	Open bool
	// Trusted are the domains whose addresses need not confirm.
	Trusted []string
	// PublicURL is where the link leads; nil if that is not known.
	PublicURL *url.URL
	Log       *slog.Logger
}

// Gate decides which e-mails of alerts are sent.
type Gate struct{ Config }

// New returns a Gate.
func New(config Config) *Gate { return &Gate{config} }

// strange reports whether the recipients of an account must confirm: anyone may have
// made it. What was stored before origins were is counted as such while sign-up is open.
func (g *Gate) strange(a *identity.Account) bool {
	switch a.Origin {
	case identity.OriginOpen:
		return !a.Operator
	case identity.OriginUnknown:
		return g.Open && !a.Operator
	}
	return false
}

// account returns an account by its number, or a NotFound fault if it was deleted.
func (g *Gate) account(ctx context.Context, number int64) (*identity.Account, error) {
	a, err := g.Account(ctx, number)
	if err == nil && !a.DeletedAt.IsZero() {
		return nil, fault.NoSuch("account")
	}
	return a, err
}

// required reports whether an address must confirm before an account's alerts may send
// e-mails there.
func (g *Gate) required(ctx context.Context, account int64, to mailaddress.Address) (bool, error) {
	if slices.Contains(g.Trusted, to.Domain) {
		return false, nil
	}
	a, err := g.account(ctx, account)
	return err == nil && g.strange(a), err
}

// Unaskable returns a function that says why an address can't be a recipient of an
// account's alerts; "" if it can.
func (g *Gate) Unaskable(ctx context.Context, account int64) (func(mailaddress.Address) string, error) {
	if g.PublicURL != nil {
		return func(mailaddress.Address) string { return "" }, nil
	}
	a, err := g.Account(ctx, account)
	if err != nil {
		return nil, err
	}
	strange := g.strange(a)
	return func(to mailaddress.Address) string {
		if !strange || slices.Contains(g.Trusted, to.Domain) {
			return ""
		}
		return "can't be used: its owner must confirm by a link, and this service doesn't know its own address; whoever runs it must start it with " +
			"--public-url, or name the domain in --smtp-trusted-domains"
	}, nil
}

// reachable reports whether e-mails are sent to an address at all.
func reachable(a mailaddress.Address) bool { return a.IsPublic() && a.IsASCII() }

// Send sends an e-mail of an account's alert, if its recipient may get it.
func (g *Gate) Send(ctx context.Context, owner job.Owner, to, id string, letter notify.Letter) job.Outcome {
	address, ok := mailaddress.Parse(to)
	if !ok || !reachable(address) {
		return blocked("e-mails can't be sent to this address; change the alert")
	}
	required, err := g.required(ctx, owner.Number, address)
	var r *store.Recipient
	refused := false
	if err == nil {
		r, refused, err = g.Store.RecipientGet(ctx, owner.Number, address.String(), address.Mailbox())
	}
	switch {
	case err != nil && fault.CodeOf(err) == fault.NotFound:
		return blocked("the account of the alert was deleted")
	case err != nil:
		return job.Outcome{Failure: &job.Failure{
			Kind: job.KindInterrupted, Unsent: true, Wait: time.Second,
			Message: "it could not be read whether the owner of the address has confirmed; the e-mail will be sent later",
		}}
	case refused && (!required || r != nil && !r.RefusedAt.IsZero()):
		return blocked("the owner of the address has refused all e-mails of this service")
	case required && (refused || r == nil):
		return blocked("the owner of the address has not confirmed, and was not asked: an account asks " + maxAskedText +
			" addresses a day, and an address is asked once a day; test the alert again tomorrow")
	case required && r.ConfirmedAt.IsZero():
		return blocked("the owner of the address has not confirmed yet; an e-mail with a link was sent there on " +
			r.AskedAt.UTC().Format("2006-01-02 15:04 UTC"))
	case required:
		letter.Text += "\nThe link in the e-mail that asked for your confirmation ends these e-mails."
	}
	return g.Mail.Send(ctx, address.String(), id, letter)
}

// maxAskedText is MaxAsked as a word.
const maxAskedText = "five"

// blocked returns the outcome of an e-mail that is not sent, now or later.
func blocked(why string) job.Outcome {
	return job.Outcome{Failure: &job.Failure{Kind: job.KindBlocked, Final: true, Message: why}}
}

// State is what is known of an address that an account's alerts send e-mails to.
type State int

// The states of addresses.
const (
	Confirmed State = iota // or need not confirm
	Waiting                // was asked
	Unasked                // was not asked yet, since the account or others have asked too often
	Refused
)

// States returns the states of all addresses that must confirm before an account's
// alerts may send e-mails there, by address: a function, since what an account has not
// asked is not stored.
func (g *Gate) States(ctx context.Context, account int64) (func(address string) State, error) {
	a, err := g.Account(ctx, account)
	if err != nil {
		return nil, err
	}
	found := map[string]*store.Recipient{}
	all, err := g.Store.RecipientList(ctx, account, "", maxRecipients)
	for _, r := range all {
		found[r.Address] = r
	}
	strange := g.strange(a)
	return func(text string) State {
		address, _ := mailaddress.Parse(text)
		r := found[address.String()]
		switch {
		case r != nil && !r.RefusedAt.IsZero():
			return Refused
		case !strange, slices.Contains(g.Trusted, address.Domain), r != nil && !r.ConfirmedAt.IsZero():
			return Confirmed
		case r == nil:
			return Unasked
		}
		return Waiting
	}, err
}

// link returns the link of a question with a token.
func (g *Gate) link(token string) string {
	return strings.TrimSuffix(g.PublicURL.String(), "/") + Path + token
}
