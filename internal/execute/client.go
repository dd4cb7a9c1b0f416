package execute

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/netip"
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
	// AllowPrivate permits loopback, private, link-local and other special
	// addresses as targets.
	AllowPrivate bool
	// RootCAs are the authorities trusted for targets; nil means the system's.
	RootCAs *x509.CertPool
	// MaxConnsIdle is how many idle connections are kept to one host: as many
	// as requests are under way at once, so that none is dropped and set up
	// again. 0 means 100. Four times as many are kept to all hosts together.
	MaxConnsIdle int
}

// Request is one attempt as it goes out.
type Request struct {
	Method string // upper case
	URL    string // absolute https, with the final query; a fragment is dropped

	// Header holds the job's own fields, checked before; several of one name
	// are sent as several. They win over Own and User-Agent, not over the
	// signature. Fields that belong to the connection (Host, Content-Length,
	// Connection, ...) are left out.
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
	special   func(netip.Addr) bool // addresses that may not be called; nil: all may
	tls       *tls.Config
	transport *http.Transport
	warm      *warmConns
}

// New returns a Client. Close it when it is no longer used.
func New(cfg Config) *Client {
	c := &Client{
		userAgent: "punctual/" + cfg.Version,
		tls:       newTLSConfig(cfg.RootCAs),
	}
	if !cfg.AllowPrivate {
		c.special = special
	}
	connsIdle := cfg.MaxConnsIdle
	if connsIdle <= 0 {
		connsIdle = defaultConnsIdle
	}
	c.transport = c.newTransport(connsIdle)
	c.warm = newWarmConns(connsIdle, func(ctx context.Context, addr string) (*http.ClientConn, error) {
		return c.transport.NewClientConn(ctx, "https", addr)
	})
	return c
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
// other cause counts as an interruption.
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
	resp, err := a.run(context.WithValue(ctx, attemptKey{}, a))
	if err != nil {
		out.Failure = a.failure(ctx, err)
	} else {
		out.Response = resp
	}
	out.Duration = time.Since(start)
	return out
}
