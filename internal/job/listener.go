package job

import (
	"net/url"
	"strings"
)

// ListenHost is the host of URLs to whose requests a listener responds: a
// program on a developer's machine that has connected to the service. The name is
// reserved (RFC 6761), so no request to it is ever sent over the network.
const ListenHost = "listen.invalid"

// ListenerRule says what the name of a listener is.
const ListenerRule = "must be 1 to 63 characters: a letter a to z or a digit, then these and . _ -"

// IsListenerName reports whether a text can be the name of a listener.
func IsListenerName(text string) bool {
	const first = "abcdefghijklmnopqrstuvwxyz0123456789"
	return len(text) >= 1 && len(text) <= 63 && strings.IndexByte(first, text[0]) >= 0 && strings.Trim(text, first+"._-") == ""
}

// ToListener reports whether a listener responds to requests to a URL.
func ToListener(u *url.URL) bool { return strings.EqualFold(u.Hostname(), ListenHost) }

// ListenerOf returns the name of the listener in the path of a URL, and the path
// after it, which begins with a slash. The name is "" if there is none.
func ListenerOf(u *url.URL) (name, path string) {
	name, path, _ = strings.Cut(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	if !IsListenerName(name) {
		return "", ""
	}
	return name, "/" + path
}

// whyNotListener returns why a URL with the host of listeners can't be called, or
// "" if it can.
func (o *ReadOptions) whyNotListener(u *url.URL) string {
	name, _ := ListenerOf(u)
	switch {
	case u.Scheme != "https":
		return "must use https; requests to " + ListenHost + " go to punctual listen"
	case u.Port() != "":
		return "must not have a port: " + ListenHost + " names no machine"
	case name == "":
		return "must name a listener after the host, as in https://" + ListenHost + "/dev/path; the name " + ListenerRule
	case o.CheckHost == nil:
		return ""
	}
	return o.CheckHost(u.Host)
}
