package smtp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http/httptest"
	"net/mail"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gosmtp "github.com/emersion/go-smtp"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
)

// mailServer keeps the e-mails that it gets, or refuses them.
type mailServer struct {
	mu      sync.Mutex
	refusal *gosmtp.SMTPError
	silent  bool // it says nothing to MAIL
	done    chan struct{}
	to      []string
	letters []string
}

func (s *mailServer) NewSession(*gosmtp.Conn) (gosmtp.Session, error) { return s, nil }

func (s *mailServer) Mail(string, *gosmtp.MailOptions) error {
	if s.silent {
		<-s.done
	}
	return nil
}

func (s *mailServer) Rcpt(to string, _ *gosmtp.RcptOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = append(s.to, to)
	return nil
}

func (s *mailServer) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusal != nil {
		return s.refusal
	}
	s.letters = append(s.letters, string(text))
	return nil
}

func (s *mailServer) Reset() {}

func (s *mailServer) Logout() error { return nil }

// start returns a client of a new mail server without TLS.
func (s *mailServer) start(t *testing.T) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := gosmtp.NewServer(s)
	server.Domain = "localhost"
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) }) // ends when it is closed
	t.Cleanup(func() {
		_ = server.Close()
		done.Wait()
	})
	return newClient(t, l.Addr(), nil)
}

// newClient returns a client of the server at an address: with TLS from the beginning
// if roots are given.
func newClient(t *testing.T, address net.Addr, roots *x509.CertPool) *Client {
	t.Helper()
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Server: &Server{Host: host, Port: number, TLS: roots != nil}, RootCAs: roots,
		From: &mail.Address{Name: "Punctual", Address: "alerts@example.com"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClient_SendsOneLetter(t *testing.T) {
	s := &mailServer{}
	outcome := s.start(t).Send(t.Context(), "ops@example.com", "msg_1",
		notify.Letter{Subject: "[nightly] failed: Bericht über Nacht", Text: "job: 7\nresponse: 日本"})
	if outcome.Failure != nil || outcome.Response == nil || outcome.Response.Status != 250 {
		t.Fatalf("the outcome is %+v", outcome)
	}
	if len(s.letters) != 1 || len(s.to) != 1 || s.to[0] != "ops@example.com" {
		t.Fatalf("%d e-mails came, to %q", len(s.letters), s.to)
	}
	message, err := mail.ReadMessage(strings.NewReader(s.letters[0]))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
	if err != nil || subject != "[nightly] failed: Bericht über Nacht" {
		t.Errorf("the subject is %q, %v", subject, err)
	}
	for name, want := range map[string]string{
		"From": `"Punctual" <alerts@example.com>`, "To": "<ops@example.com>", "Message-Id": "<msg_1@example.com>",
		"Auto-Submitted": "auto-generated",
	} {
		if got := message.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestClient_LettersAddNoHeadersAndNoRecipients sends texts that would end a header,
// the headers, or the e-mail, if they were sent as they are.
func TestClient_LettersAddNoHeadersAndNoRecipients(t *testing.T) {
	for _, text := range []string{"x\r\nBcc: victim@example.com", "x\nBcc: victim@example.com\n\nhi",
		"x\r\n.\r\nMAIL FROM:<a@example.com>\r\n", "\r\n\r\nBcc: victim@example.com"} {
		s := &mailServer{}
		c := s.start(t)
		_ = c.Send(t.Context(), "ops@example.com", "msg_1", notify.Letter{Subject: text, Text: text}) // sent or refused
		for _, letter := range s.letters {
			message, err := mail.ReadMessage(strings.NewReader(letter))
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			if message.Header.Get("Bcc") != "" || message.Header.Get("Auto-Submitted") == "" {
				t.Errorf("%q: the headers are %v", text, message.Header)
			}
		}
		if len(s.letters) > 1 || len(s.to) > 1 {
			t.Errorf("%q: %d e-mails came, to %q", text, len(s.letters), s.to)
		}
		for _, to := range []string{"ops@example.com\r\nRCPT TO:<victim@example.com>", "ops@example.com>, <victim@example.com",
			"a@example.com, b@example.com"} {
			s.to = nil
			if outcome := c.Send(t.Context(), to, "msg_2", notify.Letter{Subject: "s", Text: "t"}); outcome.Failure == nil ||
				len(s.to) > 0 {
				t.Errorf("an e-mail to %q was sent to %q", to, s.to)
			}
		}
	}
}

func TestClient_ReportsWhyALetterWasNotTaken(t *testing.T) {
	s := &mailServer{refusal: &gosmtp.SMTPError{Code: 550, EnhancedCode: gosmtp.EnhancedCode{5, 7, 1},
		Message: "relay1.internal.example says " + strings.Repeat("no ", 400)}}
	outcome := s.start(t).Send(t.Context(), "ops@example.com", "msg_1", notify.Letter{Subject: "s", Text: "t"})
	if f := outcome.Failure; f == nil || f.Kind != job.KindProtocol || f.Unsent ||
		f.Message != "the mail server did not take the e-mail: it refused it with the status 550" {
		t.Errorf("the outcome is %+v", outcome)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	outcome = newClient(t, l.Addr(), nil).Send(t.Context(), "ops@example.com", "msg_1", notify.Letter{Subject: "s", Text: "t"})
	if f := outcome.Failure; f == nil || f.Kind != job.KindConnect || !f.Unsent ||
		f.Message != "the mail server did not take the e-mail: it could not be reached" {
		t.Errorf("nobody listens, and the outcome is %+v", outcome)
	}
}

// silentServer returns a client of a mail server that takes connections and says
// nothing. It signals each connection after the TLS handshake, if there is one.
func silentServer(t *testing.T, secure bool) (*Client, <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var roots *x509.CertPool
	if secure {
		lent := httptest.NewTLSServer(nil) // for its certificate
		t.Cleanup(lent.Close)
		roots = x509.NewCertPool()
		roots.AddCert(lent.Certificate())
		l = tls.NewListener(l, &tls.Config{Certificates: lent.TLS.Certificates, MinVersion: tls.VersionTLS12})
	}
	connected := make(chan struct{}, 1)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			if c, ok := conn.(*tls.Conn); ok {
				_ = c.Handshake()
			}
			connected <- struct{}{}
			_, _ = io.Copy(io.Discard, conn) // until the client closes it
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		done.Wait()
	})
	return newClient(t, l.Addr(), roots), connected
}

func TestClient_ReturnsWhenItsContextEnds(t *testing.T) {
	for name, secure := range map[string]bool{"smtp": false, "smtps": true} {
		t.Run(name, func(t *testing.T) {
			c, connected := silentServer(t, secure)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-connected
				cancel(errors.New("the node stops"))
			}()
			outcome := c.Send(ctx, "ops@example.com", "msg_1", notify.Letter{Subject: "s", Text: "t"})
			if f := outcome.Failure; f == nil || f.Kind != job.KindInterrupted {
				t.Errorf("a cancelled e-mail: %+v", outcome)
			}
			timed, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer stop()
			outcome = c.Send(timed, "ops@example.com", "msg_1", notify.Letter{Subject: "s", Text: "t"})
			if f := outcome.Failure; f == nil || f.Kind != job.KindTimeout || !f.Unsent {
				t.Errorf("an e-mail whose time is over: %+v", outcome)
			}
		})
	}
}

// TestClient_SaysThatNothingWasSent: an e-mail that waited for others, or whose sender the
// server has not answered in time.
func TestClient_SaysThatNothingWasSent(t *testing.T) {
	s := &mailServer{silent: true, done: make(chan struct{})}
	c := s.start(t)
	defer close(s.done)
	send := func(what string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		outcome := c.Send(ctx, "ops@example.com", "msg_1", notify.Letter{Subject: "s", Text: "t"})
		if f := outcome.Failure; f == nil || f.Kind != job.KindTimeout || !f.Unsent {
			t.Errorf("%s: %+v", what, outcome.Failure)
		}
	}
	send("the server is silent")
	for range maxConnections {
		c.slots <- struct{}{}
	}
	send("all connections are in use")
}
