package job

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// keyRequestSize is the size of a KeyRequest.
const keyRequestSize = 16

// The path of the call that creates a job, before those of reruns.
const createPath = "/api/jobs"

// CreateRequest returns the KeyRequest of a call that creates a job: a digest of its
// path and body. The key itself, the request_id, fields that are null and the order of
// members do not count.
func CreateRequest(body rawjson.Value) []byte {
	return keyRequest(createPath, without(body, `"`+keyField+`"`, `"`+requestField+`"`))
}

// RequestDigest is like CreateRequest for the request_id: the key counts.
func RequestDigest(body rawjson.Value) []byte {
	return keyRequest(createPath, without(body, `"`+requestField+`"`))
}

// without returns an object without some members, whose names are given as JSON, and
// without those that are null.
func without(body rawjson.Value, names ...string) rawjson.Value {
	if body.Kind() != '{' {
		return emptyObject
	}
	b := append(make([]byte, 0, len(body)), '{')
	c := rawjson.Walk(body)
	for c.Enter(); c.More(); {
		name, value := c.Name(), c.Value()
		if slices.Contains(names, string(name)) || rawjson.IsNull(value) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}')
}

// hashedVersion is the version of UUIDs that RequestKey makes of other texts (RFC 9562,
// section 5.8).
const hashedVersion = 8

// RequestKey returns what a request_id is stored as: itself if it is a UUID in lower
// case, so that UUIDs that begin with a time are stored side by side, else a digest of
// it.
func RequestKey(id string) uuid.UUID {
	if key, err := uuid.Parse(id); err == nil && key.String() == id && key != uuid.Nil && key.Version() != hashedVersion {
		return key
	}
	digest := sha256.Sum256([]byte(id))
	key := uuid.UUID(digest[:16])
	key[6], key[8] = hashedVersion<<4|key[6]&0x0f, 0x80|key[8]&0x3f
	return key
}

// RequestIDOf returns the request_id of the body of a create; "" if it has none that
// could be right.
func RequestIDOf(body rawjson.Value) string {
	if body.Kind() != '{' {
		return ""
	}
	v := rawjson.Get(body, requestField)
	if v.Kind() != '"' {
		return ""
	}
	text := rawjson.Text(v)
	if n := utf8.RuneCountInString(text); n > 255 || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return ""
	}
	return text
}

// RefuseOtherRequestID returns the Invalid fault for a request_id that was answered
// with a job for another request. j is nil if that job was removed.
func RefuseOtherRequestID(j *Job) error {
	created := "a job that was removed since"
	if j != nil {
		created = "job " + strconv.FormatInt(j.Number, 10)
	}
	return fault.Refuse([]fault.Problem{{Pointer: Pointer(requestField), Detail: "was sent with another request, which was answered with " +
		created +
		"; use another request_id for each request"}})
}

// RerunRequest returns the KeyRequest of a call that reruns a job.
func RerunRequest(number int64, body rawjson.Value) []byte {
	return keyRequest(createPath+"/"+strconv.FormatInt(number, 10)+"/rerun", body)
}

func keyRequest(path string, body rawjson.Value) []byte {
	digest := sha256.New()
	_, _ = digest.Write([]byte(path + "\n")) // never fails
	_, _ = digest.Write(rawjson.Reordered(body))
	return digest.Sum(nil)[:keyRequestSize]
}

// RefuseOtherRequest returns an Invalid fault if a call with the header
// Idempotency-Key would create another job than the one that holds the key; nil if
// both are of the same request. A holder that got its key otherwise counts as the same
// unless only one of them is a rerun.
func RefuseOtherRequest(holder, created *Job) error {
	same := holder.KeyRequest == nil || bytes.Equal(holder.KeyRequest, created.KeyRequest)
	if same && holder.RerunOf == created.RerunOf {
		return nil
	}
	return fault.Refuse([]fault.Problem{{Pointer: Pointer(keyField),
		Detail: "of the header Idempotency-Key was sent with another request, which created job " +
			strconv.FormatInt(holder.Number, 10) + "; use another key for each request"}})
}
