package execute

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// Causes for which an attempt is stopped from outside. Cancel the context of
// [Client.Do] with one of them (see [context.WithCancelCause]).
var (
	// ErrCancelled says that the job was cancelled; the outcome is job.KindCancelled.
	ErrCancelled = errors.New("the job was cancelled")
	// ErrInterrupted says that the service stops; the outcome is job.KindInterrupted.
	ErrInterrupted = errors.New("the service stopped")
)

// Config of a Client.
type Config struct {
	// Version goes into User-Agent: punctual/VERSION.
	Version string
	// Targets decides who may be called; nil means NewTargets(TargetsConfig{}).
	Targets *Targets
	// RootCAs are the authorities trusted for targets; nil means the system's.
	RootCAs *x509.CertPool
	// MaxConnsIdle is how many idle connections are kept to one host: as many
	// as requests are under way at once, so that none is dropped and set up
	// again. 0 means 100.
	MaxConnsIdle int
	// MaxConnsIdleAll is how many are kept to all hosts together. 0 means four
	// times MaxConnsIdle.
	MaxConnsIdleAll int
}

// Request is one attempt as it goes out.
type Request struct {
	Method string // upper case
	URL    string // absolute https, with the final query; a fragment is dropped

	// Header holds the job's own fields, checked before; several of one name
	// are sent as several. They win over Own, not over the signature and Hops;
	// a User-Agent stands before the client's. Fields that belong to the
	// connection (Host, Content-Length, Connection, ...) are left out.
	Header []Field
	// Own holds the service's own unsigned fields, among them a Content-Type
	// for the body. They go along to other origins too.
	Own []Field
	// Body is sent as it is; nil means no request body.
	Body []byte

	// MessageID is the webhook-id: the same for every try of one message.
	MessageID string
	// Secrets all sign the request, each giving one signature; none means no
	// signature fields.
	Secrets []Secret

	// Hops is how many jobs made one another up to this request: the value of
	// X-Punctual-Hops. 0 leaves the field out.
	Hops int

	// Timeout is the time allowed for the whole attempt, redirects and reading
	// the answer included; 0 means no limit but the context's.
	Timeout time.Duration
	// FollowRedirects makes the client follow up to 5 of them; otherwise a
	// redirect is the final answer.
	FollowRedirects bool
}

// Field is a header field.
type Field struct{ Name, Value string }

// Client sends requests. It keeps connections, so one Client serves a whole
// process. It is safe for concurrent use.
type Client struct {
	userAgent string
	targets   *Targets
	tls       *tls.Config
	sessions  sessionCache
	transport *http.Transport
	warm      *warmConns
	conns     connSet
	faults    faults
}

// New returns a Client. Close it when it is no longer used.
func New(cfg Config) *Client {
	c := &Client{
		userAgent: "punctual/" + cfg.Version,
		targets:   cfg.Targets,
		tls:       newTLSConfig(cfg.RootCAs),
		sessions:  newSessionCache(),
	}
	if c.targets == nil {
		c.targets = NewTargets(TargetsConfig{})
	}
	connsIdle := cfg.MaxConnsIdle
	if connsIdle <= 0 {
		connsIdle = defaultConnsIdle
	}
	connsIdleAll := cfg.MaxConnsIdleAll
	if connsIdleAll <= 0 {
		connsIdleAll = 4 * connsIdle
	}
	c.conns = newConnSet(connsIdle, connsIdleAll)
	c.transport = c.newTransport(connsIdle, connsIdleAll)
	c.warm = newWarmConns(connsIdle, connsIdleAll, c.open)
	return c
}

// Block replaces the rules by which operators block targets. It closes the
// connections to blocked targets, also those in use.
func (c *Client) Block(rules []Rule) {
	c.targets.blocked.Store(newRuleSet(rules))
	c.conns.closeIf(func(conn *targetConn) bool { return c.stillAllowed(conn) != nil })
}

// Connections returns how many connections to targets are open, idle ones
// included.
func (c *Client) Connections() int {
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	return len(c.conns.conns)
}

// Close closes idle connections. Attempts under way go on.
func (c *Client) Close() {
	c.warm.close()
	c.transport.CloseIdleConnections()
}

// Do makes one attempt and says what came of it: exactly one of Response and
// Failure is set. Any whole answer is a Response, whatever its status. When
// ctx ends before there is one, the kind of failure follows from its cause:
// ErrCancelled, ErrInterrupted, context.DeadlineExceeded (a timeout); any
// other cause counts as an interruption. So does running out of local
// resources (descriptors, ports, memory); Failure.Wait is then how long to wait
// before the next attempt.
func (c *Client) Do(ctx context.Context, r Request) job.Outcome {
	start := time.Now()
	a := &attempt{client: c, req: &r, method: r.Method, body: r.Body}
	if r.Timeout > 0 {
		a.deadline = start.Add(r.Timeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, a.deadline, errTimeout)
		defer cancel()
	}
	var out job.Outcome
	resp, err := a.run(a.traced(context.WithValue(ctx, attemptKey{}, a)))
	if err != nil {
		out.Failure = a.failure(ctx, err)
	} else {
		c.faults.over()
		out.Response = resp
	}
	if out.Failure != nil && out.Failure.Local {
		out.Failure.Wait = c.relieve()
	}
	out.Duration = time.Since(start)
	return out
}
