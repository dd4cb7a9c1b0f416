package smtp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"slices"
	"strconv"
	"strings"
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
	// delivered is the reply of a mail server that has taken an e-mail.
	delivered = 250
)

// Config configures a Client.
type Config struct {
	Server *Server
	From   *mail.Address
	// RootCAs are the authorities trusted for the server; nil means the system's.
	RootCAs *x509.CertPool
	Log     *slog.Logger
}

// Client sends e-mails. It is safe for concurrent use.
type Client struct {
	from    *mail.Address
	log     *slog.Logger
	host    string
	tls     *tls.Config // nil unless there is TLS from the beginning
	options []gomail.Option
	slots   chan struct{}
}

// New returns a Client.
func New(c Config) (*Client, error) {
	s := c.Server
	secure := &tls.Config{ServerName: s.Host, RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}
	options := []gomail.Option{gomail.WithPort(s.Port), gomail.WithTimeout(timeout), gomail.WithoutNoop(), gomail.WithTLSConfig(secure)}
	policy := gomail.TLSOpportunistic
	if s.Password != "" {
		policy = gomail.TLSMandatory // the password must not be sent in the clear
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.User),
			gomail.WithPassword(s.Password))
	}
	client := &Client{from: c.From, log: c.Log, host: s.Host, slots: make(chan struct{}, maxConnections)}
	if s.TLS {
		client.tls = secure
		policy = gomail.TLSOpportunistic // there is TLS already, so the server offers no STARTTLS
	}
	client.options = append(options, gomail.WithTLSPolicy(policy))
	if _, err := gomail.NewClient(s.Host, client.options...); err != nil {
		return nil, fmt.Errorf("setting up the mail client: %w", err)
	}
	return client, nil
}

// Send sends an e-mail and returns the outcome: a Response with the status 250 if
// the server has taken it, else a Failure. It is of the kind interrupted if the
// context was cancelled; Unsent says that nothing of the text was sent and the server has
// refused nothing. The id becomes the Message-ID, so that a repetition can be
// recognized.
func (c *Client) Send(ctx context.Context, to, id string, letter notify.Letter) job.Outcome {
	began := time.Now()
	outcome := job.Outcome{}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		outcome.Failure = ended(ctx, "the mail server is busy with other e-mails")
		outcome.Failure.Unsent = true
		return outcome
	}
	err := c.send(ctx, to, id, letter)
	outcome.Duration = time.Since(began)
	switch {
	case err == nil:
		outcome.Response = &job.Response{Status: delivered}
		return outcome
	case ctx.Err() != nil:
		outcome.Failure = ended(ctx, "the mail server did not take the e-mail in time")
	default:
		c.log.Warn("the mail server did not take an e-mail", "error", err, "id", id)
		outcome.Failure = failure(err)
	}
	outcome.Failure.Unsent = unsent(err)
	return outcome
}

// unsent reports whether an e-mail failed before its text was sent, for another reason
// than that the server has refused it or its recipient.
func unsent(err error) bool {
	var send *gomail.SendError
	if !errors.As(err, &send) {
		return true // connecting failed, or signing in
	}
	switch send.Reason {
	case gomail.ErrSMTPDataClose, gomail.ErrWriteContent, gomail.ErrSMTPReset, gomail.ErrAmbiguous:
		return false
	}
	return send.ErrorCode() == 0
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
	dial := func(dialling context.Context, network, address string) (net.Conn, error) {
		conn, err := c.dial(dialling, network, address)
		if err == nil {
			// The library ignores the context once it has a connection.
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
	client, err := gomail.NewClient(c.host, slices.Concat(c.options, []gomail.Option{gomail.WithDialContextFunc(dial)})...)
	if err != nil {
		return err
	}
	if err := client.DialAndSendWithContext(ctx, m); !m.IsDelivered() {
		return err
	}
	return nil // even if the server does not let the connection end in order
}

// dial opens a connection, with TLS if it is there from the beginning.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.tls != nil {
		return (&tls.Dialer{Config: c.tls}).DialContext(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func domain(address string) string {
	for i := len(address) - 1; i >= 0; i-- {
		if address[i] == '@' {
			return address[i+1:]
		}
	}
	return address
}

// ended returns the failure of an e-mail whose context has ended: late explains that
// its time is over. One that was cut because the service stops does not count as an
// attempt.
func ended(ctx context.Context, late string) *job.Failure {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &job.Failure{Kind: job.KindTimeout, Message: late}
	}
	return &job.Failure{Kind: job.KindInterrupted,
		Message: "the service stopped before the mail server had taken the e-mail; it will be sent again"}
}

// failure explains why an e-mail was not taken. Accounts see it, so it has neither the
// address of the mail server nor what the server says; the log has both.
func failure(err error) *job.Failure {
	kind, why := job.KindConnect, "it could not be reached"
	var send *gomail.SendError
	var network net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &send) && send.ErrorCode() > 0:
		kind, why = job.KindProtocol, "it refused it with the status "+strconv.Itoa(send.ErrorCode())
	case errors.As(err, &send):
		kind, why = job.KindProtocol, "it did not follow the protocol"
	case errors.As(err, &certificate):
		kind, why = job.KindTLS, "its certificate is not trusted"
	case errors.As(err, &network) && network.Timeout():
		kind, why = job.KindTimeout, "it did not respond in time"
	case strings.Contains(err.Error(), "STARTTLS"):
		why = "it does not offer STARTTLS, which is required for a password"
	}
	return &job.Failure{Kind: kind, Message: "the mail server did not take the e-mail: " + why}
}
