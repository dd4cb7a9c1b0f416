package cli

import (
	"bytes"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// maxRepeats is how often a call is repeated whose response was lost, and repeatFor
	// for how long while connections fail after that, as those to a service that restarts.
	maxRepeats = 3
	repeatFor  = 30 * time.Second
	// The pauses before a repeat.
	firstRepeat   = 200 * time.Millisecond
	longestRepeat = 2 * time.Second
)

// callRepeating is call for a request that the service recognises by its request_id: it
// repeats it while it does not know what became of it. repeated reports whether it did.
func (c *serviceFlags) callRepeating(env *environment, path string, body []byte,
	header http.Header) (got *response, repeated bool, err error) {
	end := time.Now().Add(repeatFor)
	for n, wait := 0, firstRepeat; ; n, wait = n+1, min(2*wait, longestRepeat) {
		got, err := c.call(env, http.MethodPost, path, body, header)
		again := inDoubt(err) && n < maxRepeats || repeated && unconnected(err)
		if err == nil || !again {
			return got, repeated, err
		}
		pause := wait
		var refused *refusal
		if errors.As(err, &refused) {
			_, pause = afterRefusal(err, wait)
		}
		if time.Now().Add(pause).After(end) || !rest(env.ctx, pause) {
			return nil, repeated, err
		}
		repeated = true
	}
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
	return errors.As(err, &network) && network.Op == "dial"
}

// identify gives the body of a request a request_id unless it has one. It reports whether
// a conflict can only be with an earlier try of the same call.
func identify(body []byte) (with []byte, own bool) {
	v, err := rawjson.Read(body)
	if err != nil || v.Kind() != '{' || rawjson.Get(v, "request_id") != nil {
		return body, false // the service reports what is wrong with it
	}
	rest := bytes.TrimSpace(bytes.TrimSpace(body)[1:])
	with = append(make([]byte, 0, len(body)+64), `{"request_id":"auto-`...)
	with = append(append(with, rand.Text()...), '"')
	if rest[0] != '}' {
		with = append(with, ',')
	}
	return append(with, rest...), rawjson.IsNull(rawjson.Get(v, "idempotency_key"))
}

// identifyAll gives each job of a batch a request_id, as identify does. own has an element
// for each, in order; it is empty for a body that is no batch.
func identifyAll(text []byte, lines bool) (with []byte, own []bool) {
	one := func(item []byte) []byte {
		item, mine := identify(item)
		own = append(own, mine)
		return item
	}
	if lines {
		for line := range bytes.Lines(text) {
			if item := bytes.TrimSpace(line); len(item) > 0 {
				line = append(one(item), '\n')
			}
			with = append(with, line...)
		}
		return with, own
	}
	v, err := rawjson.Read(text)
	if err != nil {
		return text, nil
	}
	all := func(items rawjson.Value) rawjson.Value {
		elements := rawjson.Elements(items)
		for i := range elements {
			elements[i] = one(elements[i])
		}
		return rawjson.Array(elements)
	}
	if v.Kind() == '[' {
		return all(v), own
	}
	members := rawjson.Members(v)
	for i, m := range members {
		switch {
		case m.Name == "jobs" && m.Value.Kind() == '[':
			members[i].Value = all(m.Value)
		case m.Name == "then":
			members[i].Value, _ = identify(m.Value)
		}
	}
	return rawjson.Object(members), own
}

// withoutConflict returns a record that does not say that another job holds the key: the
// job is of an earlier try of the same call.
func withoutConflict(record rawjson.Value) rawjson.Value {
	members := rawjson.Members(record)
	for i, m := range members {
		switch m.Name {
		case "job":
			members[i].Value = withoutConflict(m.Value)
		case "has_confict": // as the contract spells it
			members[i].Value = rawjson.Value("false")
		}
	}
	if members == nil {
		return record
	}
	return rawjson.Object(members)
}

// withoutConflicts is withoutConflict for the records of own jobs. Where all records are
// of one request, own has one element.
func withoutConflicts(records rawjson.Value, own []bool) rawjson.Value {
	if records.Kind() != '[' {
		if len(own) == 1 && own[0] {
			return withoutConflict(records)
		}
		return records
	}
	elements := rawjson.Elements(records)
	for i := range elements {
		if len(own) == 1 && own[0] || i < len(own) && own[i] {
			elements[i] = withoutConflict(elements[i])
		}
	}
	return rawjson.Array(elements)
}
