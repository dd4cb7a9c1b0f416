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
	fault.Unreadable:       {http.StatusBadRequest, "This could not be read"},
	fault.Unauthorized:     {http.StatusUnauthorized, "Please sign in"},
	fault.Forbidden:        {http.StatusForbidden, "This is not permitted"},
	fault.NotFound:         {http.StatusNotFound, "Nothing here"},
	fault.MethodNotAllowed: {http.StatusMethodNotAllowed, "Nothing here"},
	fault.TooLarge:         {http.StatusRequestEntityTooLarge, "This is too large"},
	fault.UnsupportedMedia: {http.StatusUnsupportedMediaType, "This could not be read"},
	fault.Invalid:          {http.StatusUnprocessableEntity, "This can't be done"},
	fault.Conflict:         {http.StatusConflict, "This can't be done now"},
	fault.Gone:             {http.StatusGone, "This is over"},
	fault.Stale:            {http.StatusPreconditionFailed, "This has changed meanwhile"},
	fault.TooMany:          {http.StatusTooManyRequests, "Too much at once"},
	fault.Unavailable:      {http.StatusServiceUnavailable, "Not available right now"},
	fault.TooSlow:          {http.StatusRequestTimeout, "This took too long"},
	fault.Misdirected:      {http.StatusMisdirectedRequest, "Nothing here"},
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
		c.server.Log.Error("an error page could not be shown", "request", c.id, "error", err)
		http.Error(c, f.Message, failure.status)
	}
}
