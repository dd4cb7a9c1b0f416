package harness

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// The credentials that mail servers accept.
const (
	MailUser     = "punctual"
	MailPassword = "pass word/#"
)

// Letter is an e-mail as a mail server got it.
type Letter struct {
	From, To string
	Data     string
	User     string // who signed in; "" for nobody
	TLS      bool
}

// MailServer is an SMTP server for one test.
type MailServer struct {
	Addr string

	mu      sync.Mutex
	letters []Letter
	refuse  int // how many of the next e-mails are refused
}

// NewMailServer starts an SMTP server. With tlsFirst it speaks TLS from the
// beginning; else it offers STARTTLS unless plain is set.
func NewMailServer(t testing.TB, tlsFirst, plain bool) *MailServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &MailServer{Addr: l.Addr().String()}
	server := smtp.NewServer(m)
	server.Domain, server.ReadTimeout, server.WriteTimeout = "localhost", time.Minute, time.Minute
	server.AllowInsecureAuth = plain
	if !plain {
		server.TLSConfig = TLSConfig(t)
	}
	if tlsFirst {
		l = tls.NewListener(l, server.TLSConfig)
	}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) }) // ends when it is closed
	t.Cleanup(func() {
		_ = server.Close()
		done.Wait()
	})
	return m
}

// Letters returns the e-mails so far.
func (m *MailServer) Letters() []Letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Letter(nil), m.letters...)
}

// Refuse makes the server refuse the next n e-mails.
func (m *MailServer) Refuse(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = n
}

// NewSession implements smtp.Backend.
func (m *MailServer) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, encrypted := c.TLSConnectionState()
	return &mailSession{server: m, letter: Letter{TLS: encrypted}}, nil
}

type mailSession struct {
	server *MailServer
	letter Letter
}

// AuthMechanisms implements smtp.AuthSession.
func (s *mailSession) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth implements smtp.AuthSession.
func (s *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != MailUser || password != MailPassword {
			return errors.New("wrong credentials")
		}
		s.letter.User = user
		return nil
	}), nil
}

// Mail implements smtp.Session.
func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	s.letter.From = from
	return nil
}

// Rcpt implements smtp.Session.
func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.letter.To = to
	return nil
}

// Data implements smtp.Session.
func (s *mailSession) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.refuse > 0 {
		s.server.refuse--
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "try again"}
	}
	s.letter.Data = string(data)
	s.server.letters = append(s.server.letters, s.letter)
	return nil
}

// Reset implements smtp.Session.
func (s *mailSession) Reset() {}

// Logout implements smtp.Session.
func (s *mailSession) Logout() error { return nil }
