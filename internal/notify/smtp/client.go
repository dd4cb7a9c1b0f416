package smtp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
)

const (
	// maxConnections is how many connections to the mail server are open at once.
	maxConnections = 4
	// timeout is the time for one e-mail, from dialling to the server's answer.
	timeout = 30 * time.Second
	// maxMessage is how much of an error is kept, in bytes.
	maxMessage = 500
	// delivered is the reply of a mail server that has taken an e-mail.
	delivered = 250
)

// Config configures a Client.
type Config struct {
	Server *Server
	From   *mail.Address
	// RootCAs are the authorities trusted for the server; nil means the system's.
	RootCAs *x509.CertPool
}

// Client sends e-mails. It is safe for concurrent use.
type Client struct {
	from    *mail.Address
	host    string
	options []gomail.Option
	slots   chan struct{}
}

// New returns a Client.
func New(c Config) (*Client, error) {
	s := c.Server
	options := []gomail.Option{
		gomail.WithPort(s.Port), gomail.WithTimeout(timeout), gomail.WithoutNoop(),
		gomail.WithTLSConfig(&tls.Config{ServerName: s.Host, RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}),
	}
	policy := gomail.TLSOpportunistic
	if s.Password != "" {
		policy = gomail.TLSMandatory // the password must not be sent in the clear
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.User), gomail.WithPassword(s.Password))
	}
	if s.TLS {
		options = append(options, gomail.WithSSL())
		policy = gomail.NoTLS // there is TLS already
	}
	options = append(options, gomail.WithTLSPolicy(policy))
	if _, err := gomail.NewClient(s.Host, options...); err != nil {
		return nil, fmt.Errorf("setting up the mail client: %w", err)
	}
	return &Client{from: c.From, host: s.Host, options: options, slots: make(chan struct{}, maxConnections)}, nil
}

// Send sends an e-mail and returns the outcome: a Response with the status 250 if
// the server has taken it, else a Failure. The id becomes the Message-ID, so that a
// repetition can be recognized.
func (c *Client) Send(ctx context.Context, to, id string, letter notify.Letter) job.Outcome {
	began := time.Now()
	outcome := job.Outcome{}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		outcome.Failure = &job.Failure{Kind: job.KindTimeout, Message: "the mail server is busy with other e-mails"}
		return outcome
	}
	err := c.send(ctx, to, id, letter)
	outcome.Duration = time.Since(began)
	if err != nil {
		outcome.Failure = failure(err)
	} else {
		outcome.Response = &job.Response{Status: delivered}
	}
	return outcome
}

func (c *Client) send(ctx context.Context, to, id string, letter notify.Letter) error {
	m := gomail.NewMsg(gomail.WithEncoding(gomail.EncodingQP))
	m.FromMailAddress(c.from)
	if err := m.To(to); err != nil {
		return fmt.Errorf("the address can't be used: %w", err)
	}
	m.Subject(letter.Subject)
	m.SetDate()
	m.SetMessageIDWithValue(id + "@" + domain(c.from.Address))
	// RFC 3834: no vacation notes in reply.
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetBodyString(gomail.TypeTextPlain, letter.Text)
	client, err := gomail.NewClient(c.host, c.options...)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	return client.DialAndSendWithContext(ctx, m)
}

func domain(address string) string {
	for i := len(address) - 1; i >= 0; i-- {
		if address[i] == '@' {
			return address[i+1:]
		}
	}
	return address
}

// failure explains why an e-mail was not taken.
func failure(err error) *job.Failure {
	kind := job.KindConnect
	var send *gomail.SendError
	var network net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &send):
		kind = job.KindProtocol
	case errors.As(err, &certificate):
		kind = job.KindTLS
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		kind = job.KindTimeout
	}
	return &job.Failure{Kind: kind, Message: notify.Cut("the mail server did not take the e-mail: "+err.Error(), maxMessage)}
}
