package job

import (
	"net/http"
	"strings"
)

// AppEngine is the Endpoint of dialects whose jobs call an App Engine target.
const AppEngine = "app_engine"

// LastPart returns what follows the last slash of a resource name.
func LastPart(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// TaskID returns the last part of the name of a task: the one that its client has chosen,
// or the job's id.
func TaskID(j *Job, d *Dialect) string {
	if d.Name != "" {
		return LastPart(d.Name)
	}
	return strings.ReplaceAll(j.ID.String(), "-", "")
}

// rpcNames has the google.rpc.Code that stands for each status of HTTP.
var rpcNames = map[int]string{
	http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED",
	http.StatusNotFound: "NOT_FOUND", http.StatusConflict: "ABORTED", http.StatusTooManyRequests: "RESOURCE_EXHAUSTED",
	499: "CANCELLED", http.StatusInternalServerError: "INTERNAL", http.StatusNotImplemented: "UNIMPLEMENTED",
	http.StatusServiceUnavailable: "UNAVAILABLE", http.StatusGatewayTimeout: "DEADLINE_EXCEEDED",
}

// RPCName returns the name of the google.rpc.Code for a status of HTTP: OK for successes,
// UNKNOWN for what has no code.
func RPCName(status int) string {
	name, ok := rpcNames[status]
	switch {
	case ok:
		return name
	case status >= 200 && status < 300:
		return "OK"
	case status >= 400 && status < 500:
		return "FAILED_PRECONDITION"
	case status >= 500:
		return "INTERNAL"
	}
	return "UNKNOWN"
}

// FailureName returns the name of the google.rpc.Code for an attempt that got no response.
func FailureName(f *Failure) string {
	switch f.Kind {
	case KindTimeout, KindExpired, KindAbandoned:
		return "DEADLINE_EXCEEDED"
	case KindBlocked, KindSecret:
		return "PERMISSION_DENIED"
	case KindCancelled:
		return "CANCELLED"
	case KindInternal, KindPoisoned, KindUnstored:
		return "INTERNAL"
	}
	return "UNAVAILABLE"
}
