package execute

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

const userAgent = "User-Agent"

// header builds the fields of the next hop.
func (a *attempt) header(now time.Time) http.Header {
	r := a.req
	size := len(r.Header) + len(r.Own) + 5
	b := builder{make(http.Header, size), make([]string, 0, size)}
	agent := "" // of the job
	for _, f := range r.Header {
		switch {
		case !a.carries(f.Name):
		case strings.EqualFold(f.Name, userAgent):
			agent += f.Value + " "
		default:
			b.add(f.Name, f.Value)
		}
	}
	for _, f := range r.Own {
		if a.overridden(f.Name) || a.bodyGone && isOneOf(f.Name, bodyFields) {
			continue
		}
		b.add(f.Name, f.Value)
	}
	b.add(userAgent, strings.TrimLeft(agent+a.client.userAgent, " "))
	if r.Hops > 0 {
		b.add(job.HopsField, strconv.Itoa(r.Hops))
	}
	if a.signs() {
		seconds := now.Unix()
		b.add(fieldID, r.MessageID)
		b.add(fieldTimestamp, strconv.FormatInt(seconds, 10))
		b.add(fieldSignature, Sign(r.Secrets, r.MessageID, seconds, a.body))
		b.markReplayable()
	}
	return b.header
}

// signs reports whether the next hop is signed: not on foreign ground, where
// a signature could be collected and played back to the real receiver.
func (a *attempt) signs() bool { return len(a.req.Secrets) > 0 && !a.foreign }

// carries reports whether a field of the job goes along on the next hop.
func (a *attempt) carries(name string) bool {
	switch {
	case isOneOf(name, connectionFields), strings.EqualFold(name, job.HopsField):
		return false
	case len(a.req.Secrets) > 0 && isOneOf(name, signatureFields):
		return false
	case a.bodyGone && isOneOf(name, bodyFields):
		return false
	case a.foreign:
		return strings.EqualFold(name, "accept") || a.body != nil && strings.EqualFold(name, "content-type")
	}
	return true
}

// overridden reports whether the job has a field of that name on the next hop.
func (a *attempt) overridden(name string) bool {
	for _, f := range a.req.Header {
		if strings.EqualFold(f.Name, name) && a.carries(f.Name) {
			return true
		}
	}
	return false
}

// Fields with a part to play, in lower case.
var (
	// Those that belong to the connection or frame the message are net/http's
	// to set; a second one in another spelling would let a request be read as
	// two.
	connectionFields = []string{"connection", "content-length", "host", "keep-alive", "proxy-connection",
		"te", "trailer", "transfer-encoding", "upgrade"}
	signatureFields = []string{fieldID, fieldTimestamp, fieldSignature}
	// Those that describe a request's body mean nothing once a redirect has
	// dropped it (Fetch Standard, request-body-header names).
	bodyFields = []string{"content-encoding", "content-language", "content-location", "content-type"}
)

func isOneOf(name string, fields []string) bool {
	for _, f := range fields {
		if len(f) == len(name) && strings.EqualFold(f, name) {
			return true
		}
	}
	return false
}

// builder fills a header whose values share one array.
type builder struct {
	header http.Header
	values []string
}

// add keeps the name's spelling, which some HTTP/1 servers are particular
// about; net/http looks for User-Agent in its canonical one.
func (b *builder) add(name, value string) {
	if len(name) == len(userAgent) && strings.EqualFold(name, userAgent) {
		name = userAgent
	}
	if prev, ok := b.header[name]; ok {
		b.header[name] = append(prev, value)
		return
	}
	b.values = append(b.values, value)
	n := len(b.values)
	b.header[name] = b.values[n-1 : n : n]
}

// markReplayable lets the transport send the request once more, whatever its
// method, when a kept connection proves dead. It is net/http's own signal: a
// key without values is not sent.
func (b *builder) markReplayable() {
	const key = "X-Idempotency-Key"
	if _, ok := b.header[key]; !ok {
		b.header[key] = nil
	}
}
