package execute

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	userAgent     = "User-Agent"
	completeField = "X-Punctual-Complete"
)

// header builds the fields of the next hop.
func (a *attempt) header(now time.Time) http.Header {
	r := a.req
	size := len(r.Header) + len(r.Own) + 7
	b := builder{make(http.Header, size), make([]string, 0, size)}
	agent := "" // the job's
	for i, f := range r.Header {
		switch {
		case !a.carries(i):
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
	if r.Plain {
		b.add("Accept-Encoding", "identity")
	}
	if r.Complete != "" && !a.foreign {
		b.add(completeField, r.Complete)
	}
	b.add(userAgent, strings.TrimLeft(agent+a.client.userAgent, " "))
	if r.Hops > 0 {
		b.add(job.HopsField, strconv.Itoa(r.Hops))
	}
	if a.signs() {
		seconds := now.Unix()
		b.add(fieldID, r.MessageID)
		b.add(fieldTimestamp, strconv.FormatInt(seconds, 10))
		b.add(fieldSignature, r.Signing.Sign(r.MessageID, seconds, a.body))
	}
	if len(r.TokenKey) > 0 && !a.foreign {
		b.add(fieldToken, Token(r.TokenKey, a.address(), now, a.body))
	}
	return b.header
}

// signs reports whether the next hop is signed. A foreign origin gets no
// signature, because it could replay it to the real receiver.
func (a *attempt) signs() bool { return !a.req.Signing.empty() && !a.foreign }

// carries reports whether the next hop sends one of the job's fields.
func (a *attempt) carries(i int) bool {
	name := a.req.Header[i].Name
	hosts, bound := a.req.Bound[i]
	switch {
	case bound && !slices.Contains(hosts, job.HostName(a.url)):
		return false
	case isOneOf(name, connectionFields), job.IsOwnField(name):
		return false
	case a.req.Plain && isOneOf(name, codingFields):
		return false
	case !a.req.Signing.empty() && isOneOf(name, signatureFields):
		return false
	case len(a.req.TokenKey) > 0 && isOneOf(name, tokenFields):
		return false
	case a.bodyGone && isOneOf(name, bodyFields):
		return false
	case a.foreign:
		return isOneOf(name, foreignFields)
	}
	return true
}

// overridden reports whether the next hop sends a field of that name of the
// job.
func (a *attempt) overridden(name string) bool {
	for i, f := range a.req.Header {
		if strings.EqualFold(f.Name, name) && a.carries(i) {
			return true
		}
	}
	return false
}

// Fields with a part to play, in lower case.
var (
	// net/http sets the fields that belong to the connection or frame the
	// message; a duplicate in another spelling would allow request smuggling.
	connectionFields = []string{"connection", "content-length", "host", "keep-alive", "proxy-connection",
		"te", "trailer", "transfer-encoding", "upgrade", "expect"}
	signatureFields = []string{fieldID, fieldTimestamp, fieldSignature}
	tokenFields     = []string{"upstash-signature"}
	// Fields that ask for a part of a response, or for one in another form.
	codingFields = []string{"accept-encoding", "range", "if-range", "a-im"}
	// The job's own fields that go along to another origin.
	foreignFields = []string{"accept", "content-type"}
	// Fields that describe a request's body are dropped together with the body
	// at a redirect (Fetch Standard, request-body-header names).
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

// add adds a field. It keeps the name's spelling, which matters to some HTTP/1
// servers, except for User-Agent, which net/http looks up in its canonical
// form.
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
