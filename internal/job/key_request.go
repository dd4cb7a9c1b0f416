package job

import (
	"bytes"
	"crypto/sha256"
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// keyRequestSize is the size of a digest that KeyRequest returns.
const keyRequestSize = 16

// KeyRequest returns a digest of a call with the header Idempotency-Key: its path, in
// which a job is named by its number, and its body. The order of the members of
// objects does not count.
func KeyRequest(path string, body rawjson.Value) []byte {
	digest := sha256.New()
	digest.Write([]byte(path + "\n"))
	digest.Write(rawjson.Reordered(body))
	return digest.Sum(nil)[:keyRequestSize]
}

// The paths of the calls that read the header Idempotency-Key.
const createPath = "/api/jobs"

// CreateRequest is the KeyRequest of a call that creates a job.
func CreateRequest(body rawjson.Value) []byte { return KeyRequest(createPath, body) }

// RerunRequest is the KeyRequest of a call that reruns a job.
func RerunRequest(number int64, body rawjson.Value) []byte {
	return KeyRequest(createPath+"/"+strconv.FormatInt(number, 10)+"/rerun", body)
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
	return fault.New(fault.Invalid, "the Idempotency-Key was used for another request, which created job "+strconv.FormatInt(holder.Number, 10)+
		"; nothing was stored: use another key for each request")
}
