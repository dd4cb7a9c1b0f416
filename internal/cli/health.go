package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

type healthCommand struct {
	Listen string `setting:"" default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"Address that the service listens on."`
	Live   bool   `help:"Check only that the process is up (/healthz), not that it is ready (/readyz)."`
}

// healthWithin is how long a check may take.
const healthWithin = 5 * time.Second

// Run asks the service on this machine how it is. It fails if the service can't be
// reached or is not ready.
func (c *healthCommand) Run(env *environment) error {
	address, err := reachable(c.Listen)
	if err != nil {
		return err
	}
	path := "/readyz"
	if c.Live {
		path = "/healthz"
	}
	ctx, cancel := context.WithTimeout(env.ctx, healthWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return fmt.Errorf("--listen %q is not an address like 127.0.0.1:8080", c.Listen)
	}
	// Neither a proxy nor a redirect comes between: the service is on this machine.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the service can't be reached at %s: %w", address, err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10)) // the status says enough
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the service at %s is not ready: status %d: %.500s", address, response.StatusCode, text)
	}
	_, err = fmt.Fprintln(env.out, "ok")
	return err
}

// reachable returns where a program on this machine reaches what listens on an
// address: on loopback if that is every address of the machine.
func reachable(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "" || port == "0" {
		return "", fmt.Errorf("--listen %q must have a host and a port, as in 127.0.0.1:8080", listen)
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case host == "" || err == nil && addr == netip.IPv4Unspecified():
		host = "127.0.0.1"
	case err == nil && addr == netip.IPv6Unspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}
