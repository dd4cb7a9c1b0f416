package cli

import (
	"errors"
	"net/mail"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/notify/smtp"
)

// mailFlags are the flags of serve for e-mails.
type mailFlags struct {
	SMTPURL  mailServer  `name:"smtp-url" setting:"" placeholder:"URL" help:"The mail server for alerts: smtp://USER:PASSWORD@HOST:587, or smtps:// for TLS from the beginning. Without it, alerts can't send e-mails."`
	SMTPFrom mailAddress `name:"smtp-from" setting:"" placeholder:"ADDRESS" help:"The sender of e-mails, as in 'Punctual <alerts@example.com>'."`
}

// Validate implements kong.Validatable.
func (f *mailFlags) Validate() error {
	if (f.SMTPURL.Server == nil) != (f.SMTPFrom.Address == nil) {
		return errors.New("--smtp-url and --smtp-from need each other; give both, or none")
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
