package dashboard

import (
	"bytes"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// reveals reports whether the page shows credentials in headers. The public
// account's pages never do.
func (c *call) reveals() bool { return c.param("reveal") == "true" && !c.viewer.public }

// newHidden returns the links that show and hide credentials on a page. The public
// account has none.
func (c *call) newHidden(page string) view.Hidden {
	switch {
	case c.viewer.public:
		return view.Hidden{}
	case c.reveals():
		return view.Hidden{Hide: page}
	}
	return view.Hidden{Show: page + "?reveal=true"}
}

// show returns args as the page shows them: with masked credentials, unless they are to be
// revealed. It marks hidden if there are any.
func (c *call) show(object rawjson.Value, hidden *view.Hidden) rawjson.Value {
	masked := job.MaskCredentials(object)
	if !bytes.Equal(masked, object) {
		hidden.Any = true
	}
	if c.reveals() {
		return object
	}
	return masked
}

// showLog gives a log the payload that the page shows, as show does. The receivers of alerts
// are revealed only to those who may change alerts.
func (c *call) showLog(l *job.Log, hidden *view.Hidden) {
	masked := job.MaskLog(l.Event, l.Payload)
	mayReveal := l.Event != job.EventAlertFailed || c.may(identity.RoleEditor)
	if mayReveal && !bytes.Equal(masked, l.Payload) {
		hidden.Any = true
	}
	if !mayReveal || !c.reveals() {
		l.Payload = masked
	}
}

// partOf returns the address of a live part of a page, which shows credentials if
// the page does.
func (c *call) partOf(page, name string) string {
	if c.reveals() {
		return page + "?reveal=true&part=" + name
	}
	return page + "?part=" + name
}
