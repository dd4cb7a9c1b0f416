package execute

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

var (
	errTimeout          = errors.New("the time allowed ran out")
	errSwitched         = errors.New("protocol switched unasked")
	errStatus           = errors.New("the status of the response is not from 100 to 999")
	errTooManyRedirects = &redirectError{fmt.Sprintf("the target redirected more than %d times", maxRedirects)}
)

// redirectError says why a redirect was not followed. The sentence does not
// contain the Location, which may hold secrets.
type redirectError struct{ sentence string }

func (e *redirectError) Error() string { return e.sentence }

// outcome returns the failure for the error an attempt ended with. What came to nothing
// on this machine doesn't count as an attempt unless a request has left before: that one
// must not be sent again without a retry.
func (a *attempt) outcome(ctx context.Context, err error) *job.Failure {
	f := a.ending(ctx, err)
	f.Redirected = a.redirected
	return f
}

func (a *attempt) ending(ctx context.Context, err error) *job.Failure {
	f := a.failure(ctx, err)
	if f.Local {
		f.Wait = a.client.relieve(a.req.Party.Account, err)
	}
	if !a.wrote || !f.Local && !f.Unsent {
		return f
	}
	why, _, _ := strings.Cut(f.Message, "; ")
	return fail(job.KindClosed, "a request had been sent when the attempt had to end: %s", why)
}

// failure returns the kind and message for the error an attempt ended with. It
// checks first whether the attempt was stopped, then the phase that failed,
// then the error itself. What remains is a response that net/http could not
// read.
func (a *attempt) failure(ctx context.Context, err error) *job.Failure {
	var (
		blocked   *blockedError
		redirect  *redirectError
		dns       *net.DNSError
		dial      *dialError
		handshake *handshakeError
		known     *knownError
		dropped   *droppedError
	)
	switch {
	case ctx.Err() != nil:
		return a.stopped(context.Cause(ctx))
	case errors.As(err, &known):
		return known.failure
	case a.expired() && isTimeout(err):
		return a.timedOut() // the network noticed before the context did
	case err == errNotURL:
		return fail(job.KindConnect, "the URL is not an absolute https URL")
	case errors.As(err, &redirect):
		return fail(job.KindRedirect, "%s", redirect.sentence)
	case errors.As(err, &blocked):
		return fail(job.KindBlocked, "%s may not be called: %s", a.host(), blocked.explain(a.url.Hostname()))
	case a.client.isLocal(err):
		f := fail(job.KindInterrupted, "this service has run out of local resources (%v); the attempt will be retried and does not count",
			localFault(err))
		f.Local = true
		return f
	case errors.Is(err, errFlood):
		return fail(job.KindProtocol, "%s sent far more data than its response needs", a.host())
	case errors.As(err, &dns):
		return fail(job.KindDNS, "%s", explainDNS(dns))
	case errors.As(err, &dial):
		return fail(job.KindConnect, "%s", a.explainDial(dial.err))
	case errors.As(err, &handshake) && isClosed(err):
		return fail(job.KindClosed, "%s closed the connection during the TLS handshake", a.host())
	case handshake != nil, isTLS(err):
		return fail(job.KindTLS, "%s", a.explainTLS(err))
	case isClosed(err) && a.reading:
		return fail(job.KindClosed, "%s closed the connection in the middle of its response", a.host())
	case isClosed(err) && errors.As(err, &dropped):
		f := fail(job.KindClosed, "%s closed a connection that was kept open, before the first byte of a response", a.host())
		f.Dropped = true
		return f
	case isClosed(err):
		return fail(job.KindClosed, "%s closed the connection without a response", a.host())
	}
	return fail(job.KindProtocol, "%s", a.explainProtocol(err))
}

func fail(kind job.Kind, format string, args ...any) *job.Failure {
	return &job.Failure{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// stopped returns the failure of an attempt whose context ended.
func (a *attempt) stopped(cause error) *job.Failure {
	switch {
	case errors.Is(cause, errTimeout):
		return a.timedOut()
	case errors.Is(cause, ErrCancelled):
		return fail(job.KindCancelled, "the job was cancelled while the request was under way")
	case errors.Is(cause, errTooLate):
		f := fail(job.KindInterrupted, "the request could not leave while it was certain that it may: the time that its limits granted was over, or the claim was not confirmed; the attempt does not count")
		f.Unsent = true
		return f
	case errors.Is(cause, context.DeadlineExceeded):
		return fail(job.KindTimeout, "no complete response in the time allowed")
	}
	return fail(job.KindInterrupted, "the service stopped while the request was under way")
}

func (a *attempt) timedOut() *job.Failure {
	if a.reading {
		return fail(job.KindTimeout, "the response was not complete within %s", span(a.req.Timeout))
	}
	return fail(job.KindTimeout, "no response within %s", span(a.req.Timeout))
}

func (a *attempt) expired() bool {
	return !a.deadline.IsZero() && time.Until(a.deadline) < time.Millisecond
}

// span formats a timeout for people: "30 s", "250 ms".
func span(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%g ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%g s", d.Seconds())
}

// host returns the target of the hop under way.
func (a *attempt) host() string { return a.url.Host }

func explainDNS(err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return "the host name " + err.Name + " does not exist"
	case err.IsTimeout:
		return "the name servers did not respond for " + err.Name
	}
	return "the host name " + err.Name + " could not be resolved"
}

func (a *attempt) explainDial(err error) string {
	at := a.host()
	var op *net.OpError
	if errors.As(err, &op) {
		// Don't leak an internal address that a name resolved to.
		if to, ok := op.Addr.(*net.TCPAddr); ok && !special(to.AddrPort().Addr().Unmap()) {
			at = to.String()
		}
	}
	var errno syscall.Errno
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection to " + at + " was refused"
	case isTimeout(err):
		return "the connection to " + at + " timed out"
	case errors.As(err, &errno):
		return "no connection to " + at + ": " + errno.Error()
	}
	return "no connection to " + at + " could be made"
}

func (a *attempt) explainTLS(err error) string {
	host := a.url.Hostname()
	var (
		record   tls.RecordHeaderError
		name     x509.HostnameError
		unknown  x509.UnknownAuthorityError
		invalid  x509.CertificateInvalidError
		op       *net.OpError
		verifies *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, errLongChain):
		return "the certificates of " + host + " are longer than " + strconv.Itoa(maxChain>>10) + " KiB together"
	case errors.As(err, &record):
		if string(record.RecordHeader[:]) == "HTTP/" {
			return a.host() + " responds with plain HTTP, not TLS"
		}
		return a.host() + " does not speak TLS"
	case errors.As(err, &name):
		return "the certificate is not valid for " + host
	case errors.As(err, &unknown):
		return "the certificate of " + host + " is signed by an unknown authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate of " + host + " has expired or is not valid yet"
	case errors.As(err, &verifies):
		return "the certificate of " + host + " is not trusted"
	case errors.As(err, &op) && op.Op == remoteAlert:
		return a.host() + " refused the TLS handshake: " + strings.TrimPrefix(op.Err.Error(), "tls: ")
	}
	if isTimeout(err) {
		return fmt.Sprintf("the TLS handshake with %s was not complete within %s", a.host(), span(dialLimit))
	}
	return "the TLS handshake with " + a.host() + " failed"
}

func (a *attempt) explainProtocol(err error) string {
	text := wordsOf(err)
	switch {
	case err == errSwitched:
		return a.host() + " switched to another protocol unasked"
	case errors.Is(err, errLongHeader), strings.Contains(text, "headers exceeded"), strings.Contains(text, "header list larger"),
		strings.Contains(text, "header list too large"):
		return fmt.Sprintf("the header of the response is larger than %d KiB, with %d bytes more for each line", maxHeaderBytes>>10,
			lineCost)
	case err == errInvalidMethod:
		return "the method of the request is not valid"
	case err == errInvalidField, strings.HasPrefix(text, "net/http: invalid header"):
		return "a header field of the request is not valid"
	}
	return a.host() + " did not respond with valid HTTP"
}

// The operations of net.OpError under which crypto/tls reports alerts.
const (
	remoteAlert = "remote error"
	localAlert  = "local error"
)

// isTLS reports whether err is a TLS failure after the handshake, such as the
// alert of a TLS 1.3 server that requires a client certificate.
func isTLS(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == remoteAlert || op.Op == localAlert) {
		return true
	}
	var record tls.RecordHeaderError
	return errors.As(err, &record)
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// isClosed reports whether the other side ended the connection or stream.
func isClosed(err error) bool {
	for _, target := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT} {
		if errors.Is(err, target) {
			return true
		}
	}
	var reset streamError
	if errors.As(err, &reset) {
		return reset.Cause != nil && reset.Cause.Error() == "received from peer"
	}
	text := wordsOf(err)
	for _, part := range closedTexts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// wordsOf returns the text of an error of net/http without what it repeats of the
// response: a target must not choose how its failure is read.
func wordsOf(err error) string {
	var line textproto.ProtocolError
	if errors.As(err, &line) {
		return "" // it is not quoted
	}
	text, _, _ := strings.Cut(err.Error(), `"`)
	return text
}

// closedTexts identify errors of net/http that have neither a type nor a value.
var closedTexts = []string{
	"server closed idle connection",
	"GOAWAY",
	"http2: client conn",
}

// streamError has the fields of net/http's internal HTTP/2 stream error, which
// fills any such struct for [errors.As]. Its cause distinguishes resets by the
// peer from faults found on this side.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "stream reset" }
