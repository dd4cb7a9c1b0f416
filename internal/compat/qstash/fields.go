package qstash

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// fields are the fields of a job that is created.
type fields struct{ rawjson.Fields }

// backoff are the waits of that API before retries: e to the 2.5n seconds, at most a day.
var backoff = []string{"12", "148", "1808", "22026", "86400"}

// nonRetryable is the status by which a target excludes a retry.
const nonRetryable = "[489]"

// request adds what is said of the request itself, and of its retries.
func (f *fields) request(o *Options) {
	method := o.Method
	if method == "" {
		method = "post"
	}
	f.Text("method", method)
	f.Add("headers", headersOf(o.Header))
	timeout := o.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	f.Seconds("timeout", min(max(timeout, job.MinTimeout), job.MaxTimeout))
	retries := o.Retries
	if retries < 0 {
		retries = job.DefaultRetries
	} else {
		f.Number("retries", int64(retries))
	}
	switch {
	case o.RetryDelay != "":
		f.Text("retry_delay", o.RetryDelay)
	case retries > 0:
		f.Add("backoff", rawjson.Value("["+strings.Join(backoff[:min(retries, len(backoff))], ",")+"]"))
	}
	if retries > 0 {
		f.Add("no_retry", rawjson.Value(nonRetryable))
	}
}

// headersOf returns headers as the field has them. A header with one value, as nearly all
// are, is a string.
func headersOf(h http.Header) rawjson.Value {
	b := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(h)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendText(b, name), ':')
		values := h[name]
		if len(values) == 1 {
			b = rawjson.AppendText(b, values[0])
			continue
		}
		b = append(b, '[')
		for k, value := range values {
			if k > 0 {
				b = append(b, ',')
			}
			b = rawjson.AppendText(b, value)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// body adds the body, which is sent as it is.
func (f *fields) body(body []byte) {
	if len(body) > 0 {
		f.Bytes("body_base64", body)
	}
}

// timing adds when a message is sent.
func (f *fields) timing(o *Options) {
	switch {
	case !o.NotBefore.IsZero():
		f.Number("scheduled_at", o.NotBefore.Unix())
	case o.Delay > 0:
		f.Seconds("schedule_in", o.Delay)
	}
}

// tags adds the labels that can be tags, by which lists of the service's own API can be
// filtered.
func (f *fields) tags(labels []string) {
	var tags []string
	for _, label := range labels {
		if job.IsTag(label) && len(tags) < job.MaxTags {
			tags = append(tags, label)
		}
	}
	if tags != nil {
		f.Texts("tags", tags)
	}
}

// dedupWindow is how long a message is remembered, so that another one with the same
// deduplication id or the same content is not sent.
const dedupWindow = 10 * time.Minute

// dedup adds the key by which a message is deduplicated.
func (f *fields) dedup(o *Options, destination string, body []byte) {
	key := dedupKey(o, destination, body)
	if key == "" {
		return
	}
	f.Text("idempotency_key", key)
	f.Seconds("throttle", dedupWindow)
}

// maxKey is the greatest length of a deduplication id that is kept as it is.
const maxKey = 200

func dedupKey(o *Options, destination string, body []byte) string {
	switch {
	case o.Dedup != "":
		if len(o.Dedup) <= maxKey {
			return "dedup:" + o.Dedup
		}
		sum := sha256.Sum256([]byte(o.Dedup))
		return "dedup-sha256:" + hex.EncodeToString(sum[:])
	case o.ByContent:
		hash := sha256.New()
		part := func(text string) {
			_, _ = hash.Write(strconv.AppendInt(nil, int64(len(text)), 10))
			_, _ = hash.Write([]byte(":" + text))
		}
		part(destination)
		part(o.Queue)
		part(string(headersOf(o.Header)))
		_, _ = hash.Write(body)
		return "content:" + hex.EncodeToString(hash.Sum(nil))
	}
	return ""
}
