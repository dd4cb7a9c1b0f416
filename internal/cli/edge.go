package cli

import (
	"fmt"
	"net/url"
	"time"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/network"
)

// edgeFlags are the flags of serve for connections, proxies and addresses.
type edgeFlags struct {
	PublicURL      origin   `name:"public-url" setting:"" placeholder:"URL" help:"Where clients reach the service, as in https://punctual.example.com. Requests for other hosts are then refused."`
	TrustedProxies networks `setting:"" default:"127.0.0.0/8,::1/128" placeholder:"LIST" help:"Networks of proxies whose X-Forwarded-For, -Proto and -Host are trusted; none trusts no proxy."`
	MaxConnections slots    `setting:"" default:"4096" placeholder:"N" help:"Maximum of client connections open at once on this node. A network may have a quarter of them; a trusted proxy and this machine may have three quarters."`
	MetricsListen  string   `setting:"" placeholder:"ADDR" help:"Address to serve metrics and health details on. Default: the same as everything else."`
	Drain          drain    `setting:"" default:"0" placeholder:"TIME" help:"How long to serve on after the first SIGTERM while /readyz fails, so that load balancers turn elsewhere first, as in 5s; 0 stops at once."`
}

// drain is a time of at most maxDrain.
type drain time.Duration

// maxDrain is more than any load balancer takes to notice.
const maxDrain = 10 * time.Minute

// Decode implements kong.MapperValue.
func (d *drain) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	value, err := parsePeriod(text)
	if err != nil || value > maxDrain {
		return fmt.Errorf("must be a time like 5s or 1m, at most 10m, or 0 for none, not %q", text)
	}
	*d = drain(value)
	return nil
}

// origin is where clients reach the service: a scheme and a host. The zero value
// is not given.
type origin struct{ *url.URL }

// Decode implements kong.MapperValue.
func (o *origin) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return fmt.Errorf("must be a scheme and a host, as in https://punctual.example.com, not %q", text)
	}
	o.URL = &url.URL{Scheme: u.Scheme, Host: u.Host}
	return nil
}

// String returns the URL without a slash at its end; "" when it was not given.
func (o origin) String() string {
	if o.URL == nil {
		return ""
	}
	return o.URL.String()
}

// networks is a list of networks; "none" is the empty list.
type networks network.List

// Decode implements kong.MapperValue.
func (n *networks) Decode(ctx *kong.DecodeContext) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	if text == "none" {
		text = ""
	}
	list, err := network.ParseList(text)
	*n = networks(list)
	return err
}
