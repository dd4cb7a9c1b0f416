package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/listen"
	"github.com/punctual-dev/punctual/internal/pause"
)

type listenCommand struct {
	serviceFlags
	ForwardTo string `name:"forward-to" default:"http://localhost:3000" placeholder:"URL" help:"Where requests are sent, on this machine or in its network."`
	Name      string `name:"name" placeholder:"NAME" help:"Respond to requests to https://listen.invalid/NAME/…; dev unless --name or --tag is given."`
	Tag       string `name:"tag" placeholder:"TAG" help:"Respond to all jobs with this tag, whatever their url. Until the command ends, their targets get nothing."`
}

const (
	// connectPause and maxConnectPause bound the pause before the next try to connect.
	connectPause    = 500 * time.Millisecond
	maxConnectPause = 15 * time.Second
	// maxRetryAfter bounds the pause that the service asks for.
	maxRetryAfter = time.Minute
	// aliveEvery is how often the command checks that the service responds, and
	// aliveWithin how long it waits for that.
	aliveEvery  = 15 * time.Second
	aliveWithin = 15 * time.Second
	// maxRequest bounds a message of the service. A request is smaller: its body is
	// bounded when the job is created.
	maxRequest = 16 << 20
)

// Run implements the command: it connects again and again until it is interrupted.
func (c *listenCommand) Run(env *environment) error {
	if c.Name == "" && c.Tag == "" {
		c.Name = "dev"
	}
	if c.Name != "" && !job.IsListenerName(c.Name) {
		return failed(statusUsage, "--name %s", job.ListenerRule)
	}
	if c.Tag != "" && !job.IsTag(c.Tag) {
		return failed(statusUsage, "--tag %s", job.TagRule)
	}
	forward, err := newForwarder(c.ForwardTo)
	if err != nil {
		return err
	}
	s, err := c.session(env)
	if err != nil {
		return err
	}
	address, err := c.address(s)
	if err != nil {
		return err
	}
	l := &listening{command: c, env: env, address: address, key: s.key, forward: forward,
		terminal: newListenDisplay(env.out, env.errOut, c.displayFlags)}
	defer l.forward.close()
	return l.run()
}

// address returns the URL of the WebSocket.
func (c *listenCommand) address(s *session) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(s.url, "/") + "/api/listen")
	if err != nil {
		return "", failed(statusUsage, "--url must be an address like https://punctual.example.com, not %q", s.url)
	}
	q := url.Values{"instance": {uuid.NewString()}}
	if c.Name != "" {
		q.Set("name", c.Name)
	}
	if c.Tag != "" {
		q.Set("tag", c.Tag)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// what describes what is answered.
func (c *listenCommand) what() string {
	var parts []string
	if c.Name != "" {
		parts = append(parts, "https://"+job.ListenHost+"/"+c.Name+"/…")
	}
	if c.Tag != "" {
		parts = append(parts, "jobs with the tag "+c.Tag)
	}
	return strings.Join(parts, " and ")
}

// listening is the command while it runs.
type listening struct {
	command  *listenCommand
	env      *environment
	address  string
	key      string
	forward  *forwarder
	terminal *listenDisplay
}

// run connects until the context ends, or the service refuses for good.
func (l *listening) run() error {
	ctx, stop := untilHungUp(l.env.ctx)
	defer stop()
	rest := connectPause
	// draining connections still answer what they have under way.
	var draining connections
	defer draining.wait()
	for {
		conn, err := l.dial(ctx)
		var refused *refusal
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &refused) && isFinal(refused.status):
			return err
		case err != nil:
			text, wait := afterRefusal(err, rest)
			l.terminal.note("%s; connecting again in %s", text, wait.Round(100*time.Millisecond))
			if !pause.For(ctx, wait) {
				return nil
			}
			rest = min(2*rest, maxConnectPause)
			continue
		}
		why, ready := draining.serve(ctx, l, conn)
		if ctx.Err() != nil {
			return nil
		}
		if ready {
			rest = connectPause
		}
		l.terminal.note("the connection has ended (%s); connecting again in %s", why, rest.Round(100*time.Millisecond))
		if !pause.For(ctx, rest) {
			return nil
		}
		rest = min(2*rest, maxConnectPause)
	}
}

// afterRefusal returns what to print of a failed try to connect, and the pause before the
// next one: at least what the service asks for, up to maxRetryAfter.
func afterRefusal(err error, pause time.Duration) (text string, wait time.Duration) {
	var refused *refusal
	if !errors.As(err, &refused) {
		return sentence(err), pause
	}
	seconds, _ := strconv.Atoi(refused.retryAfter) // 0 if it is none
	after := time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	return strings.TrimSuffix(refused.Error(), "."), max(pause, after)
}

// isFinal reports whether trying again would fail in the same way.
func isFinal(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
}

// dial opens the WebSocket. Its error is a *refusal if the service refused it.
func (l *listening) dial(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, got, err := websocket.Dial(ctx, l.address, &websocket.DialOptions{
		Subprotocols: []string{listen.Subprotocol}, HTTPHeader: http.Header{"Authorization": {"Bearer " + l.key}},
	})
	if err == nil && conn.Subprotocol() != listen.Subprotocol {
		_ = conn.CloseNow()
		return nil, &refusal{status: http.StatusNotFound, detail: l.command.notPunctual(l.env).Error()}
	}
	if err == nil {
		conn.SetReadLimit(maxRequest)
		return conn, nil
	}
	if got != nil && got.StatusCode >= http.StatusBadRequest {
		return nil, refusedHandshake(got)
	}
	if got != nil {
		return nil, fmt.Errorf("the service, or a proxy before it, does not support WebSockets: it responded %s", got.Status)
	}
	return nil, unreached(l.env, err)
}
