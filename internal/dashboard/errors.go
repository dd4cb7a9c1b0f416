package dashboard

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
)

const internalMessage = "Something went wrong on our side. It has been logged under the id below."

// failures maps the code of a fault to the status and the heading of its page.
var failures = map[fault.Code]struct {
	status int
	title  string
}{
	fault.Internal:         {http.StatusInternalServerError, "Something went wrong"},
	fault.Unreadable:       {http.StatusBadRequest, "Bad request"},
	fault.Unauthorized:     {http.StatusUnauthorized, "Sign in"},
	fault.Forbidden:        {http.StatusForbidden, "Not permitted"},
	fault.NotFound:         {http.StatusNotFound, "Not found"},
	fault.MethodNotAllowed: {http.StatusMethodNotAllowed, "Not found"},
	fault.TooLarge:         {http.StatusRequestEntityTooLarge, "Too large"},
	fault.UnsupportedMedia: {http.StatusUnsupportedMediaType, "Bad request"},
	fault.Invalid:          {http.StatusUnprocessableEntity, "Invalid request"},
	fault.Conflict:         {http.StatusConflict, "Conflict"},
	fault.Gone:             {http.StatusGone, "No longer available"},
	fault.Stale:            {http.StatusPreconditionFailed, "Changed since you opened it"},
	fault.TooMany:          {http.StatusTooManyRequests, "Too many requests"},
	fault.Unavailable:      {http.StatusServiceUnavailable, "Service unavailable"},
	fault.TooSlow:          {http.StatusRequestTimeout, "Timed out"},
	fault.Misdirected:      {http.StatusMisdirectedRequest, "Not found"},
}

// fail responds with an error page.
func (c *call) fail(err error) {
	var f *fault.Error
	gone := edge.ClientGone(c.r, err)
	switch {
	case gone:
		f = fault.Unreachable(err) // the client may only have ended its half of the connection
		defer func() { c.status = edge.StatusClientClosedRequest }()
	case !errors.As(err, &f):
		f = &fault.Error{Code: fault.Internal, Message: internalMessage, Cause: err}
	}
	failure := failures[f.Code]
	if failure.status >= http.StatusInternalServerError && !gone {
		c.server.complaints.Log(c.server.Log, "a page could not be shown", failure.status, "request", c.id, "error", err)
	}
	if f.Code == fault.TooMany || f.Code == fault.Unavailable {
		c.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(f.RetryAfter.Seconds())))))
	}
	message, _, _ := strings.Cut(f.Message, "; check its id and the key") // the browser uses no key
	if err := c.render(failure.status, view.ErrorPage(failure.status, failure.title, message, c.id)); err != nil {
		if !edge.ClientGone(c.r, err) {
			c.server.Log.Error("an error page could not be shown", "request", c.id, "error", err)
		}
		http.Error(c, f.Message, failure.status)
	}
}
