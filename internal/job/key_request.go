package job

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// keyRequestSize is the size of a KeyRequest.
const keyRequestSize = 16

// The path of the call that creates a job, before those of reruns.
const createPath = "/api/jobs"

// CreateRequest returns the KeyRequest of a call that creates a job: a digest of its
// path and body. The key itself, fields that are null and the order of members do not
// count.
func CreateRequest(body rawjson.Value) []byte {
	members := slices.DeleteFunc(rawjson.Members(body), func(m rawjson.Member) bool {
		return m.Name == keyField || rawjson.IsNull(m.Value)
	})
	return keyRequest(createPath, rawjson.Object(members))
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
	return fault.Refuse([]fault.Problem{{Pointer: Pointer(keyField), Detail: "of the header Idempotency-Key was sent with another request, which created job " +
		strconv.FormatInt(holder.Number, 10) + "; use another key for each request"}})
}
