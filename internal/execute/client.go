package execute

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// Causes for stopping an attempt from outside. Cancel the context of
// [Client.Do] with one of them (see [context.WithCancelCause]).
var (
	// ErrCancelled means that the job was cancelled; the outcome is
	// job.KindCancelled.
	ErrCancelled = errors.New("the job was cancelled")
	// ErrInterrupted means that the service stops; the outcome is
	// job.KindInterrupted.
	ErrInterrupted = errors.New("the service stopped")
)

// Config configures a Client.
type Config struct {
	// Version goes into User-Agent: punctual/VERSION.
	Version string
	// Targets decides which targets may be called; nil means
	// NewTargets(TargetsConfig{}).
	Targets *Targets
	// RootCAs are the authorities trusted for targets; nil means the system's.
	RootCAs *x509.CertPool
	// MaxConnsIdle is how many idle connections to one host are kept for an account.
	// Set it to the number of concurrent requests, so that no connection is closed
	// and set up again. 0 means 100.
	MaxConnsIdle int
	// MaxConnsIdleAll is how many idle connections are kept in total; one account
	// has three quarters of them at most. 0 means four times MaxConnsIdle.
	MaxConnsIdleAll int
	// PreferHTTP2 speaks HTTP/2 to targets that offer both versions. Otherwise only
	// those that refuse HTTP/1.1 are spoken to in HTTP/2.
	PreferHTTP2 bool
}

// Request is the request of one attempt.
type Request struct {
	// Party is whom the request is sent for. It shares connections with requests of
	// the same party only.
	Party Party
	// Recent makes the request use a connection that is new or was used less than a
	// second ago, which the target hardly closes meanwhile.
	Recent bool

	Method string // upper case
	URL    string // absolute https, with the final query; a fragment is dropped

	// Header holds the job's own fields, already validated; fields of the same
	// name are all sent. They override Own, but not the signature and Hops; a
	// User-Agent is put before the client's. Fields that belong to the
	// connection (Host, Content-Length, Connection, ...) are left out.
	Header []Field
	// Bound restricts fields of Header, by index, to hosts: names in lower case,
	// without ports. No other host receives them.
	Bound map[int][]string
	// Own holds the service's own unsigned fields, such as the body's
	// Content-Type. They are sent to other origins, too.
	Own []Field
	// Complete is the value of X-Punctual-Complete, which only the origin of URL
	// receives. "" leaves the field out.
	Complete string
	// Plain asks for the whole response without a content coding, whatever Header
	// says, so that values in it can be masked.
	Plain bool
	// Authorize adds fields to a request that is about to be sent to the first origin,
	// and is complete but for them; body is its body. If it returns a failure, nothing
	// is sent. It is called for each hop, and again for a new connection. May be nil.
	Authorize func(r *http.Request, body []byte) *job.Failure
	// Body is sent unchanged; nil means no request body.
	Body []byte

	// MessageID is the webhook-id: the same for every try of a request.
	MessageID string
	// Signing signs the request; without secrets and keys there are no signature
	// fields.
	Signing Signing
	// TokenKey signs the request in the way of the QStash API, with a Token; nil adds
	// none. Token says that the caller of Do is to set it; Do ignores that.
	TokenKey Secret
	Token    bool

	// Hops is how many jobs created one another up to this request: the value
	// of X-Punctual-Hops. 0 leaves the field out.
	Hops int

	// Timeout limits the whole attempt, including redirects and reading the
	// response; 0 means no limit but the context's.
	Timeout time.Duration
	// FollowRedirects makes the client follow up to 5 redirects; otherwise a
	// redirect is the final response.
	FollowRedirects bool
	// Listener answers requests to job.ListenHost; nil if none does. With Divert, it
	// answers all requests to the first origin.
	Listener Listener
	Divert   bool
	// Leave is called right before the request is sent, when its connection is
	// there, and reports whether it may still be sent: for each hop, and again if
	// another connection has to be used, or it has taken long to make the request after
	// a wait. May be nil. Values of Own that it changes are sent.
	Leave func() bool
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
	only2     onlyHTTP2
	conns     *connSet
	openings  *openings
	dialTCP   func(ctx context.Context, network, addr string) (net.Conn, error)
	transport *http.Transport
	http2     *http2Pool
	faults    faults
}

// New returns a Client. Close it when it is no longer used.
func New(cfg Config) *Client {
	c := &Client{
		userAgent: "punctual/" + cfg.Version,
		targets:   cfg.Targets,
		tls:       newTLSConfig(cfg.RootCAs, cfg.PreferHTTP2),
		sessions:  newSessionCache(),
		openings:  newOpenings(),
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
	c.dialTCP = c.dialGuarded
	c.conns = newConnSet(connsIdle, connsIdleAll)
	c.transport = newTransport()
	c.http2 = newHTTP2Pool(c.openings, c.openHTTP2, c.wrap)
	return c
}

// Block replaces the rules by which operators block targets. It closes
// connections to blocked targets, even those in use.
func (c *Client) Block(rules []Rule) {
	c.targets.blocked.Store(newRuleSet(rules))
	c.conns.closeIf(func(conn *targetConn) bool { return c.stillAllowed(conn) != nil })
}

// Connections returns how many connections to targets are open, including idle
// ones.
func (c *Client) Connections() int {
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	return len(c.conns.conns)
}

// Close closes idle connections. Attempts under way are not affected; Close waits for
// those that are connecting.
func (c *Client) Close() {
	c.http2.close()
	c.conns.close()
	c.openings.close()
}

// Do sends one request and returns the outcome: either Response or Failure is
// set. Any complete response is a Response, whatever its status. If ctx ends
// first, its cause decides the kind of failure: ErrCancelled, ErrInterrupted,
// context.DeadlineExceeded (a timeout); any other cause counts as an
// interruption. Running out of local resources (descriptors, ports, memory) is
// an interruption, too; Failure.Wait is then how long to wait before the next
// attempt. Of an attempt of which a request has left, it is a failure that counts.
func (c *Client) Do(ctx context.Context, r Request) job.Outcome {
	start := time.Now()
	a := &attempt{client: c, req: &r, method: r.Method, body: r.Body}
	a.phases.enter(job.ConnectPhase)
	if r.Timeout > 0 {
		a.deadline = start.Add(r.Timeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, a.deadline, errTimeout)
		defer cancel()
	}
	if r.Leave != nil {
		ctx, a.stop = context.WithCancelCause(ctx)
		defer a.stop(nil)
	}
	var out job.Outcome
	resp, err := a.run(ctx)
	if err != nil {
		out.Failure = a.outcome(ctx, err)
	} else {
		c.faults.over(r.Party.Account)
		out.Response = resp
	}
	out.Duration, out.Timings = time.Since(start), a.phases.end(out.Failure)
	return out
}
