package smtp

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
)

// Server is a mail server and the credentials for it.
type Server struct {
	Host     string
	Port     int
	TLS      bool // from the beginning; else STARTTLS if the server offers it
	User     string
	Password string
}

// ParseURL reads the address of a mail server: smtp://USER:PASSWORD@HOST:PORT, or
// smtps:// for TLS from the beginning. The default ports are 587 and 465. The error
// never repeats the URL, which may hold a password.
func ParseURL(text string) (*Server, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("must be a URL, as in smtp://USER:PASSWORD@HOST:587; encode special characters of the password")
	}
	s := &Server{Host: u.Hostname(), Port: 587}
	switch {
	case u.Scheme == "smtps":
		s.TLS, s.Port = true, 465
	case u.Scheme != "smtp":
		return nil, errors.New("must begin with smtp:// or smtps://")
	}
	if s.Host == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return nil, errors.New("must have a host and nothing after the port, as in smtp://USER:PASSWORD@HOST:587")
	}
	if port := u.Port(); port != "" {
		if s.Port, err = strconv.Atoi(port); err != nil || s.Port < 1 || s.Port > 65535 {
			return nil, errors.New("must have a port from 1 to 65535")
		}
	}
	if u.User != nil {
		s.User = u.User.Username()
		s.Password, _ = u.User.Password()
		if s.User == "" || s.Password == "" {
			return nil, errors.New("must have both a user and a password, or neither")
		}
	}
	return s, nil
}

// ParseFrom reads the sender of e-mails: an address, or a name and an address as in
// Punctual <alerts@example.com>.
func ParseFrom(text string) (*mail.Address, error) {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("must be an e-mail address, as in alerts@example.com, not %q", text)
	}
	return a, nil
}
