package job

import (
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Kind says why an attempt got no usable answer.
type Kind string

// The kinds of failure that logs, callbacks and webhooks name.
const (
	KindDNS         Kind = "dns"         // the host's name could not be resolved
	KindConnect     Kind = "connect"     // no connection could be made
	KindTLS         Kind = "tls"         // the handshake failed or the certificate is not trusted
	KindTimeout     Kind = "timeout"     // the time allowed ran out, also while the answer was read
	KindClosed      Kind = "closed"      // the connection ended before the answer was whole
	KindProtocol    Kind = "protocol"    // what came back was not HTTP
	KindRedirect    Kind = "redirect"    // too many redirects, or one that may not be followed
	KindBlocked     Kind = "blocked"     // the address may not be called
	KindCancelled   Kind = "cancelled"   // the job was cancelled meanwhile
	KindTooLarge    Kind = "too_large"   // the request would exceed the budget; nothing was sent
	KindInterrupted Kind = "interrupted" // the service stopped or crashed meanwhile
	KindUnstored    Kind = "unstored"    // what the attempt came to could not be stored
	KindInternal    Kind = "internal"    // a defect of the service ended the attempt
	KindPoisoned    Kind = "poisoned"    // the attempt can't be made; the job was set aside
	KindStatus      Kind = "status"      // an answer other than 2xx; in callbacks and webhooks only
)

// Permanent reports whether a further try would fail in the same way, so that
// none is made.
func (k Kind) Permanent() bool {
	return k == KindBlocked || k == KindTooLarge || k == KindInternal
}

// Failure says why an attempt failed.
type Failure struct {
	Kind    Kind
	Message string // a sentence for a person
	// Local reports that this machine had run out of descriptors, ports or
	// memory; the kind is KindInterrupted.
	Local bool
	// Wait is how long to wait before an interrupted attempt is made again.
	Wait time.Duration
}

// MaxResponseBody is how many bytes of an answer's body are kept.
const MaxResponseBody = 256 << 10

// Response is the final answer of a target, after redirects.
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte // at most MaxResponseBody bytes
	Truncated bool   // the body was longer than what is kept

	json     rawjson.Value // what JSONBody has found
	jsonRead bool
}

// Outcome is what came of one attempt: an answer or a failure to get one.
type Outcome struct {
	Response *Response // nil when there was no whole answer
	Failure  *Failure  // nil when there was an answer, whatever its status
	Duration time.Duration
}

// Succeeded reports whether the target answered with a 2xx.
func (o Outcome) Succeeded() bool {
	return o.Response != nil && o.Response.Status >= 200 && o.Response.Status < 300
}
