package e2e

import (
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// withMail returns a service that sends e-mails, and an account with an alert.
func withMail(t *testing.T, scheme string, credentials bool, m *harness.MailServer) (*harness.Service, *harness.Client) {
	t.Helper()
	server := &url.URL{Scheme: scheme, Host: m.Addr}
	if credentials {
		server.User = url.UserPassword(harness.MailUser, harness.MailPassword)
	}
	s := harness.Start(t, harness.Flag("smtp-url", server.String()), harness.Flag("smtp-from", "Punctual <alerts@example.com>"))
	c := s.Account(t).Client
	putAlert(c, `{"on":["failed"],"to":[{"email":"someone@example.net"}]}`)
	return s, c
}

func TestAlertMail_WithSTARTTLSOrTLSAndAPassword(t *testing.T) {
	t.Parallel()
	for scheme, tlsFirst := range map[string]bool{"smtp": false, "smtps": true} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMailServer(t, tlsFirst, false)
			m.Refuse(1)
			_, c := withMail(t, scheme, true, m)
			target := harness.SharedTarget(t).Route(t)
			j := finish(t, c, target, 500, `"name":"nightly\r\nBcc: other@example.org\u0007","headers":{"Authorization":"hush"}`)
			harness.Eventually(t, 2*soon, "the e-mail is sent again", func() bool { return len(m.Letters()) == 1 })
			l := m.Letters()[0]
			if l.From != "alerts@example.com" || l.To != "someone@example.net" || l.User != harness.MailUser || !l.TLS {
				t.Errorf("the mail server got %+v", l)
			}
			parsed, err := mail.ReadMessage(strings.NewReader(l.Data))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := parsed.Header.Get("Subject"), fmt.Sprintf("Alert: job %d failed", j.Get("job_id").Int()); got != want {
				t.Errorf("Subject %q, want %q", got, want)
			}
			if parsed.Header.Get("Bcc") != "" || parsed.Header.Get("From") != `"Punctual" <alerts@example.com>` ||
				parsed.Header.Get("Auto-Submitted") != "auto-generated" {
				t.Errorf("header %q", parsed.Header)
			}
			if !strings.Contains(l.Data, fmt.Sprintf("job: %d", j.Get("job_id").Int())) || strings.Contains(l.Data, "hush") {
				t.Errorf("the e-mail is\n%s", l.Data)
			}
		})
	}
}

// TestAlertMail_NoPasswordWithoutTLS: credentials are never sent in the clear.
func TestAlertMail_NoPasswordWithoutTLS(t *testing.T) {
	t.Parallel()
	m := harness.NewMailServer(t, false, true)
	_, c := withMail(t, "smtp", true, m)
	got := c.Post("/api/alerts/a/test", nil).Want(200).Data().Get("results").Items()[0]
	if len(m.Letters()) != 0 || got.Get("error.kind").Str() != "connect" || !strings.Contains(got.Get("error.message").Str(), "STARTTLS") {
		t.Errorf("the test says %s", got.Raw())
	}
}

func TestAlertMail_WithoutAPasswordTLSIsOptional(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{true, false} {
		m := harness.NewMailServer(t, false, plain)
		_, c := withMail(t, "smtp", false, m)
		got := c.Post("/api/alerts/a/test", nil).Want(200).Data().Get("results").Items()[0]
		if letters := m.Letters(); len(letters) != 1 || letters[0].TLS == plain || got.Get("status").Int() != 250 {
			t.Errorf("plain %t: the test says %s, the server got %+v", plain, got.Raw(), letters)
		}
	}
}

func TestAlertMail_LimitOfAnHour(t *testing.T) {
	t.Parallel()
	m := harness.NewMailServer(t, false, true)
	_, c := withMail(t, "smtp", false, m)
	var to []string
	for i := range 10 {
		to = append(to, fmt.Sprintf(`{"email":"r%d@example.net"}`, i))
	}
	c.Do("PUT", "/api/alerts/a", `{"on":["failed"],"to":[`+strings.Join(to, ",")+`]}`).Want(200)
	for range 6 {
		c.Post("/api/alerts/a/test", nil).Want(200)
	}
	if got := c.Post("/api/alerts/a/test", nil).WantProblem(429); got.Header.Get("Retry-After") == "" {
		t.Errorf("no Retry-After: %s", got)
	}
	if n := len(m.Letters()); n != 60 {
		t.Errorf("%d e-mails were sent, want 60", n)
	}
}
