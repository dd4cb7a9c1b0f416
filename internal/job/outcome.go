package job

import (
	"net/http"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Kind is the reason why an attempt got no usable response.
type Kind string

// The kinds of failure that logs, callbacks and webhooks name.
const (
	KindDNS         Kind = "dns"         // the host's name could not be resolved
	KindConnect     Kind = "connect"     // connecting failed
	KindTLS         Kind = "tls"         // the handshake failed or the certificate is not trusted
	KindTimeout     Kind = "timeout"     // the timeout elapsed, possibly while reading the response
	KindClosed      Kind = "closed"      // the connection closed before the response was complete
	KindProtocol    Kind = "protocol"    // the response was not HTTP
	KindRedirect    Kind = "redirect"    // too many redirects, or one that may not be followed
	KindBlocked     Kind = "blocked"     // requests to the address are not allowed
	KindCancelled   Kind = "cancelled"   // the job was cancelled meanwhile
	KindSecret      Kind = "secret"      // a secret is gone, can't be decrypted or may not be sent there; nothing was sent
	KindGroup       Kind = "group"       // a run did not become the jobs of its group; nothing was sent
	KindTooLarge    Kind = "too_large"   // the request would exceed the budget; nothing was sent
	KindInterrupted Kind = "interrupted" // the service stopped or crashed meanwhile
	KindUnstored    Kind = "unstored"    // the outcome of the attempt could not be stored
	KindInternal    Kind = "internal"    // a defect of the service ended the attempt
	KindExpired     Kind = "expired"     // the attempt could not start in time; nothing was sent
	KindPoisoned    Kind = "poisoned"    // the attempt can't be made; the job was discarded
	KindAnswer      Kind = "answer"      // the target itself reported a failure
	KindAbandoned   Kind = "abandoned"   // the target did not report the outcome in time
	KindStatus      Kind = "status"      // a response that is no success; in callbacks and webhooks only
)

// attemptKinds are the kinds that no_retry accepts: those that an attempt of a
// job can end in.
var attemptKinds = []Kind{
	KindDNS, KindConnect, KindTLS, KindTimeout, KindClosed, KindProtocol, KindRedirect, KindBlocked,
	KindTooLarge, KindSecret, KindGroup, KindCancelled, KindInterrupted, KindInternal, KindStatus,
	KindExpired, KindAnswer, KindAbandoned,
}

// AttemptKinds returns the kinds that an attempt of a job can end in.
func AttemptKinds() []Kind { return slices.Clone(attemptKinds) }

// Permanent reports whether a retry would fail in the same way, so that the
// attempt is not retried.
func (k Kind) Permanent() bool {
	return k == KindBlocked || k == KindTooLarge || k == KindInternal
}

// Failure describes why an attempt failed.
type Failure struct {
	Kind    Kind
	Message string // a sentence for a person
	// Local reports that this machine had run out of descriptors, ports or
	// memory; the kind is KindInterrupted.
	Local bool
	// Unsent reports that nothing was sent; the kind is KindInterrupted, but for e-mails,
	// which may fail so for any reason.
	Unsent bool
	// Final reports that another attempt would fail too; of deliveries only.
	Final bool
	// Dropped reports that the request was sent over a connection that was kept open,
	// which ended before the first byte of a response; the kind is KindClosed.
	Dropped bool
	// Redirected reports that a redirect was followed before, so that the message may name
	// where a response led to.
	Redirected bool
	// Wait is how long to wait before an interrupted attempt is retried.
	Wait time.Duration
}

// MaxResponseBody is how many bytes of a response's body are kept.
const MaxResponseBody = 256 << 10

// Response is the final response of a target, after redirects.
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte // at most MaxResponseBody bytes
	Truncated bool   // the body was longer than what is kept
	// Withheld reports that Body is not kept because secrets in it could not be masked.
	Withheld bool
	// Redacted reports that body and headers are not shown. They are not kept.
	Redacted bool
	// Verbatim keeps the body as text also if it is JSON, so that no byte of it changes.
	Verbatim bool

	json     rawjson.Value // cached by JSONBody
	jsonRead bool
}

// Outcome is the result of one attempt: a response or a failure.
type Outcome struct {
	Response *Response // nil if there was no complete response
	// Failure is nil if there was a response, whatever its status, unless the target
	// reported a failure itself; the kind is KindAnswer or KindAbandoned then.
	Failure  *Failure
	Duration time.Duration
	Timings  Timings
}
