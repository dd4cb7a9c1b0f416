package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/punctual-dev/punctual/client"
)

type loginCommand struct {
	URL     string `name:"url" aliases:"service" setting:"" placeholder:"URL" help:"The URL of the service. Default: the profile's, else you are asked, else http://127.0.0.1:8080."`
	Profile string `setting:"" placeholder:"NAME" help:"The profile to store. Default: default."`
}

// Run reads a key, verifies it at the service, and stores it in a profile, which is
// in use from then on.
func (c *loginCommand) Run(env *environment) error {
	name := cmp.Or(c.Profile, defaultProfile)
	if !profileName.MatchString(name) {
		return failed(statusUsage, "--profile must have 1 to 64 letters, digits, dots, hyphens and underscores, not %q", name)
	}
	s, err := c.ask(env, name)
	if err != nil {
		return err
	}
	if _, err := s.call(env, client.Request{Path: "/api/jobs?limit=1"}); err != nil {
		return fmt.Errorf("nothing was stored: %w", err)
	}
	err = changeProfiles(func(all *profiles) error {
		all.Profiles[name], all.Current = profile{s.url, s.key}, name
		return nil
	})
	if err != nil {
		return err
	}
	if !isConfidential(s.url) {
		_, _ = fmt.Fprintf(env.errOut, "note: %s is not encrypted; others in the network can read the key\n", s.url)
	}
	path, _ := profilesPath()
	_, err = fmt.Fprintf(env.out, "signed in to %s; the key is in profile %s of %s\n", s.url, name, path)
	return err
}

// ask returns the service and the key of the new profile. The key is typed without
// echo at a terminal, and else it is the first line of standard input.
func (c *loginCommand) ask(env *environment, name string) (*session, error) {
	all, err := readProfiles()
	if err != nil {
		return nil, err
	}
	s := &session{url: cmp.Or(c.URL, all.Profiles[name].URL)}
	if s.url == "" && isInteractive(env.in) {
		text, err := askLine(env, "URL of the service ["+defaultURL+"]: ")
		if err != nil {
			return nil, err
		}
		s.url = strings.TrimSpace(text)
	}
	s.url = strings.TrimSuffix(cmp.Or(s.url, defaultURL), "/")
	if err := checkURL(s.url); err != nil {
		return nil, err
	}
	if s.key, err = readHidden(env, "API key (not shown): "); err != nil {
		return nil, err
	}
	s.key = strings.TrimSpace(s.key)
	if why := whyNotAPIKey(s.key); why != "" || s.key == "" {
		return nil, failed(statusUsage, "the key %s", cmp.Or(why, "is missing: type it, or pass it on standard input"))
	}
	return s, nil
}

// isConfidential reports whether what is sent to a URL can't be read by others:
// with https, or on this machine.
func isConfidential(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "https" {
		return err == nil
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && address.IsLoopback()
}

// maxTyped bounds a line that is read, in bytes.
const maxTyped = 64 << 10

// readHidden reads a secret: typed without echo at a terminal, else the first line
// of standard input.
func readHidden(env *environment, prompt string) (string, error) {
	file, ok := env.in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return firstLine(env.in)
	}
	_, _ = fmt.Fprint(env.errOut, prompt)
	defer func() { _, _ = fmt.Fprintln(env.errOut) }()
	before, err := term.GetState(int(file.Fd()))
	if err != nil {
		return "", fmt.Errorf("reading from the terminal: %w", err)
	}
	return unlessInterrupted(env, func() (string, error) {
		typed, err := term.ReadPassword(int(file.Fd()))
		return string(typed), err
	}, func() { _ = term.Restore(int(file.Fd()), before) })
}

// askLine asks for a line at a terminal.
func askLine(env *environment, prompt string) (string, error) {
	_, _ = fmt.Fprint(env.errOut, prompt)
	return unlessInterrupted(env, func() (string, error) { return firstLine(env.in) }, func() {})
}

// unlessInterrupted returns what read returns, or an error when the command is
// interrupted. A read of a terminal can't be ended; it is left to the end of the
// process, which follows.
func unlessInterrupted(env *environment, read func() (string, error), restore func()) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-env.ctx.Done():
		restore()
		return "", failed(statusInterrupted, "interrupted; nothing was changed")
	}
}

// firstLine reads a line without its end. It reads byte by byte, so that what
// follows the line is left.
func firstLine(in io.Reader) (string, error) {
	var line strings.Builder
	one := bufio.NewReaderSize(&oneByte{in}, 16)
	for {
		b, err := one.ReadByte()
		switch {
		case errors.Is(err, io.EOF), err == nil && b == '\n':
			return strings.TrimSuffix(line.String(), "\r"), nil
		case err != nil:
			return "", fmt.Errorf("reading standard input: %w", err)
		case line.Len() >= maxTyped:
			return "", fmt.Errorf("the line is longer than %d bytes", maxTyped)
		}
		line.WriteByte(b)
	}
}

// oneByte is a reader that returns one byte at a time.
type oneByte struct{ io.Reader }

// Read implements io.Reader.
func (r *oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }

type logoutCommand struct {
	Profile string `setting:"" placeholder:"NAME" help:"The profile to remove. Default: the one in use."`
}

// Run removes a profile with its key.
func (c *logoutCommand) Run(env *environment) error {
	var name string
	err := changeProfiles(func(all *profiles) error {
		name = cmp.Or(c.Profile, all.Current)
		if _, ok := all.Profiles[name]; !ok {
			return failed(statusNotFound, "there is no profile to remove; punctual profiles list shows all")
		}
		delete(all.Profiles, name)
		if all.Current == name {
			all.Current = ""
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.out, "profile %s is removed; its key still works until you revoke it\n", name)
	return err
}
