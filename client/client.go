package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Config says how a Client reaches the service. URL is required; every other field
// has a default.
type Config struct {
	// URL is the service's address, such as https://punctual.example.com.
	URL string
	// Key is the API key. Without it only calls that need none succeed.
	Key string
	// HTTPClient sends the requests. Redirects are not followed, whatever it says.
	// The default is a client with http.DefaultTransport.
	HTTPClient *http.Client
	// MaxRetries is how often a failed call is repeated; 4 if zero, none if negative.
	MaxRetries int
	// RefusedFor is for how long after its first failure a call is repeated while no
	// connection succeeds, beyond MaxRetries: a restart takes a moment. 30 seconds if zero,
	// not at all if negative or if MaxRetries is.
	RefusedFor time.Duration
	// MaxWait is the longest wait before one retry; a minute if zero. If the service
	// asks for a longer one, the call fails with its Problem.
	MaxWait time.Duration
	// AttemptTimeout limits one HTTP exchange, the response read whole; two minutes
	// if zero. Streams are limited by their context only.
	AttemptTimeout time.Duration
	// MaxResponseBytes limits a response; 32 MiB if zero. Of a stream it limits one
	// event or line.
	MaxResponseBytes int64
	// UserAgent is sent as User-Agent; "punctual-go" if empty.
	UserAgent string
	// OnRetry, unless nil, is called with the error of a try before the wait for the next
	// one, and returns false to end the call with that error. Several calls may run it
	// at once.
	OnRetry func(error) bool
	// NoAutomaticKeys adds no RequestID to jobs. Creating those without one is then
	// retried only when the service certainly stored nothing.
	NoAutomaticKeys bool
}

// Client calls the API of one service with one key.
type Client struct {
	base   *url.URL
	config Config
	http   *http.Client
	// resumeAt is when the account's rate permits calls again, in Unix nanoseconds:
	// a hint of the latest RateLimit header.
	resumeAt atomic.Int64
}

// New returns a client. It fails if the URL is not an absolute http or https URL.
func New(config Config) (*Client, error) {
	base, err := url.Parse(config.URL)
	if err != nil {
		return nil, fmt.Errorf("punctual: reading the service's URL: %w", err)
	}
	if base.Scheme != "https" && base.Scheme != "http" || base.Host == "" {
		return nil, fmt.Errorf("punctual: %q is not an absolute http or https URL", config.URL)
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
	base.RawQuery, base.Fragment = "", ""
	if config.MaxRetries == 0 {
		config.MaxRetries = 4
	}
	setDefault(&config.RefusedFor, 30*time.Second)
	setDefault(&config.MaxWait, time.Minute)
	setDefault(&config.AttemptTimeout, 2*time.Minute)
	setDefault(&config.MaxResponseBytes, 32<<20)
	setDefault(&config.UserAgent, "punctual-go")
	var httpClient http.Client
	if config.HTTPClient != nil {
		httpClient = *config.HTTPClient
	}
	// The API does not redirect. A redirect must not carry the key elsewhere.
	httpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: base, config: config, http: &httpClient}, nil
}

// FromEnvironment returns a client for PUNCTUAL_URL and PUNCTUAL_API_KEY, the
// variables of the command line.
func FromEnvironment() (*Client, error) {
	address := os.Getenv("PUNCTUAL_URL")
	if address == "" {
		return nil, errors.New("punctual: set PUNCTUAL_URL to the service's address")
	}
	return New(Config{URL: address, Key: os.Getenv("PUNCTUAL_API_KEY")})
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// sleep waits, unless the context ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ref names a job or a schedule in a call.
type Ref string

// ID names a job or schedule by its UUID, or a job by its integer id.
func ID[T ~string | ~int64 | ~int](id T) Ref { return Ref(fmt.Sprint(id)) }

// Key names the job or schedule that holds an idempotency key.
func Key(key string) Ref { return Ref("key:" + key) }
