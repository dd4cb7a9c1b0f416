package cli

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/mailaddress"
	"github.com/punctual-dev/punctual/internal/notify/smtp"
)

// mailFlags are the flags of serve for e-mails.
type mailFlags struct {
	SMTPURL  mailServer  `name:"smtp-url" setting:"" placeholder:"URL" help:"The mail server: smtp://USER:PASSWORD@HOST:587, or smtps:// for TLS from the beginning. It sends alerts and, with --public-url, invitations and links to confirm or change an email address or replace a password. Without it, none are sent by e-mail."`
	SMTPFrom mailAddress `name:"smtp-from" setting:"" placeholder:"ADDRESS" help:"The sender of e-mails, as in 'Punctual <alerts@example.com>'."`

	SMTPTrustedDomains mailDomains `name:"smtp-trusted-domains" setting:"" placeholder:"DOMAINS" help:"Domains whose addresses get alerts without confirmation, separated by commas. Accounts made through open sign-up need the confirmation of all others."`
}

// check reports flags that need each other.
func (f *mailFlags) check() error {
	if (f.SMTPURL.Server == nil) != (f.SMTPFrom.Address == nil) {
		return errors.New("--smtp-url and --smtp-from need each other; give both, or none")
	}
	return nil
}

// mailDomains are domains of e-mail addresses.
type mailDomains []string

// Decode implements kong.MapperValue.
func (d *mailDomains) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	*d = nil
	for name := range strings.SplitSeq(text, ",") {
		a, ok := mailaddress.Parse("x@" + strings.TrimSpace(name))
		if !ok || !a.IsPublic() {
			return fmt.Errorf("%q is not a domain; give names like example.com, separated by commas", strings.TrimSpace(name))
		}
		*d = append(*d, a.Domain)
	}
	return nil
}

type mailServer struct{ *smtp.Server }

// Decode implements kong.MapperValue.
func (s *mailServer) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err == nil {
		s.Server, err = smtp.ParseURL(text)
	}
	return err
}

type mailAddress struct{ *mail.Address }

// Decode implements kong.MapperValue.
func (a *mailAddress) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err == nil {
		a.Address, err = smtp.ParseFrom(text)
	}
	return err
}
