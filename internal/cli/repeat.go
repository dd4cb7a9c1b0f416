package cli

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// maxRepeats is how often a call is repeated whose response was lost. While connections
	// fail after that, as those to a service that restarts, it is repeated more often. When
	// repeatFor has passed since the first failure, it is repeated no more.
	maxRepeats = 3
	repeatFor  = 30 * time.Second
)

// create creates a job or a schedule once, although its response is lost. repeated reports
// whether an earlier try may have created it.
func (c *serviceFlags) create(env *environment, body []byte) (record []byte, repeated bool, err error) {
	body, id := identify(body)
	doubt := ""
	if id != "" {
		doubt = "It isn't known whether the job was created; with --request-id " + id + " the command creates it once"
	}
	return c.recordRepeating(env, "/api/jobs", body, nil, doubt)
}

// rerun repeats a job once, although its response is lost. repeated reports whether an
// earlier try may have done so.
func (c *serviceFlags) rerun(env *environment, path string, body []byte) (record []byte, repeated bool, err error) {
	return c.recordRepeating(env, path+"/rerun", body, http.Header{"Idempotency-Key": {"auto-" + rand.Text()}},
		"It isn't known whether the new job was created; the details of the first one name it")
}

// recordRepeating is callRepeating for a record. Its error has doubt below it if the record
// may have been created all the same.
func (c *serviceFlags) recordRepeating(env *environment, path string, body []byte, header http.Header,
	doubt string) (record []byte, repeated bool, err error) {
	got, repeated, err := c.callRepeating(env, path, body, header)
	if repeated && err != nil && doubt != "" {
		err = fmt.Errorf("%w\n%s", err, doubt)
	}
	if err != nil {
		return nil, repeated, err
	}
	record, err = c.data(env, got)
	return record, repeated, err
}

// callRepeating is call for a request that the service recognises by its request_id or
// Idempotency-Key: it repeats it while it does not know what became of it. repeated
// reports whether it did.
func (c *serviceFlags) callRepeating(env *environment, path string, body []byte,
	header http.Header) (got *client.Response, repeated bool, err error) {
	s, err := c.session(env)
	if err != nil {
		return nil, false, err
	}
	var r repeats
	config := client.Config{MaxRetries: maxRepeats, RefusedFor: repeatFor, MaxWait: repeatFor, OnRetry: func(err error) bool {
		wait := time.Duration(0)
		if problem := (*client.Problem)(nil); errors.As(err, &problem) {
			wait = problem.RetryAfter
		}
		return r.next(s.failure(env, err), time.Now(), wait)
	}}
	got, err = s.client(config).Do(env.ctx, client.Request{Method: http.MethodPost, Path: path, Body: body, Header: header,
		Repeatable: true})
	return got, r.repeated, s.failure(env, err)
}

// repeats are those of one call.
type repeats struct {
	failed   time.Time // first
	repeated bool
}

// next reports whether a try that failed is followed by another, at least wait later.
func (r *repeats) next(err error, now time.Time, wait time.Duration) bool {
	if r.failed.IsZero() {
		r.failed = now
	}
	again := (inDoubt(err) || r.repeated && unconnected(err)) && now.Add(wait).Sub(r.failed) < repeatFor
	r.repeated = r.repeated || again
	return again
}

// inDoubt reports whether a call that failed may have done its work.
func inDoubt(err error) bool {
	var refused *refusal
	if errors.As(err, &refused) {
		switch refused.status {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	return exitStatus(err) == statusUnreachable && !unconnected(err)
}

// unconnected reports whether a call failed before it was sent.
func unconnected(err error) bool {
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &network) && network.Op == "dial" || errors.As(err, &certificate)
}

// identify gives the body of a request a request_id, which it returns, unless it has one.
func identify(body []byte) (with []byte, id string) {
	v, err := rawjson.Read(body)
	if err != nil || v.Kind() != '{' || !rawjson.IsNull(rawjson.Get(v, "request_id")) {
		return body, "" // the service reports what is wrong with it
	}
	id = "auto-" + rand.Text()
	return rawjson.Object(setField(rawjson.Members(v), "request_id", rawjson.Quote(id))), id
}

// identifyAll gives each job of a batch a request_id, as identify does.
func identifyAll(text []byte, lines bool) []byte {
	one := func(item []byte) []byte {
		item, _ = identify(item)
		return item
	}
	if lines {
		var with []byte
		for line := range bytes.Lines(text) {
			if item := bytes.TrimSpace(line); len(item) > 0 {
				line = append(one(item), '\n')
			}
			with = append(with, line...)
		}
		return with
	}
	v, err := rawjson.Read(text)
	if err != nil {
		return text
	}
	all := func(items rawjson.Value) rawjson.Value {
		elements := rawjson.Elements(items)
		for i := range elements {
			elements[i] = one(elements[i])
		}
		return rawjson.Array(elements)
	}
	if v.Kind() == '[' {
		return all(v)
	}
	members := rawjson.Members(v)
	for i, m := range members {
		switch {
		case m.Name == "jobs" && m.Value.Kind() == '[':
			members[i].Value = all(m.Value)
		case m.Name == "then":
			members[i].Value = one(m.Value)
		}
	}
	return rawjson.Object(members)
}
