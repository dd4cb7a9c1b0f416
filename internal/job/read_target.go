package job

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/idna"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// MaxURL is how long a URL may be, in bytes.
const MaxURL = 8 << 10

func (r *reader) checkURL(name string, v rawjson.Value) {
	if v.Kind() != '"' {
		r.refuse(Pointer(name), "must be a string")
		return
	}
	text := rawjson.Text(v)
	if why := whyNotURL(text); why != "" {
		r.refuse(Pointer(name), "%s", why)
		return
	}
	if r.opts.CheckHost == nil {
		return
	}
	u, err := url.Parse(text)
	if err != nil {
		return // whyNotURL has parsed it
	}
	if why := r.opts.CheckHost(u.Host); why != "" {
		r.refuse(Pointer(name), "%s", why)
	}
}

// whyNotURL says what keeps text from being an address that can be called; ""
// when nothing does.
func whyNotURL(text string) string {
	if len(text) > MaxURL {
		return "must be at most " + strconv.Itoa(MaxURL) + " bytes long"
	}
	u, err := url.Parse(text)
	if err != nil || strings.ContainsRune(text, 0) {
		return "must be an absolute URL, as in https://example.com/path"
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "":
		return "must use https"
	case u.Scheme == "" || u.Opaque != "" || u.Host == "":
		return "must be an absolute https URL with a host, as in https://example.com/path"
	case u.User != nil:
		return "must not contain user info; use the header Authorization instead"
	case !validPort(u) || !validHost(u.Hostname(), strings.HasPrefix(u.Host, "[")):
		return "must have a valid host and port"
	}
	return ""
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.Atoi(u.Port())
	return err == nil && port > 0 && port <= 65535
}

func validHost(host string, bracketed bool) bool {
	if bracketed {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		ascii = host // underscores are refused there, yet are in use
	}
	if ascii == "" || len(ascii) > 253 || strings.Trim(ascii, ".") == "" || strings.Contains(ascii, "..") {
		return false
	}
	for _, c := range []byte(ascii) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}

var connectionHeaders = []string{"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive"}

func (r *reader) checkHeaders(v rawjson.Value) {
	if v.Kind() != '{' {
		r.refuse("#/headers", "must be an object of names and values")
		return
	}
	for _, m := range rawjson.Members(v) {
		at := Pointer("headers", m.Name)
		if !httpguts.ValidHeaderFieldName(m.Name) {
			r.refuse(at, "is not a valid header name")
		} else if belongsToConnection(m.Name) {
			r.refuse(at, "belongs to the connection and is set by the service; leave it out")
		}
		if m.Value.Kind() != '[' {
			r.checkHeaderValue(at, m.Value)
			continue
		}
		for i, e := range rawjson.Elements(m.Value) {
			r.checkHeaderValue(Pointer("headers", m.Name, strconv.Itoa(i)), e)
		}
	}
}

func belongsToConnection(name string) bool {
	name = strings.ToLower(name)
	for _, known := range connectionHeaders {
		if name == known {
			return true
		}
	}
	return strings.HasPrefix(name, "proxy-")
}

func (r *reader) checkHeaderValue(at string, v rawjson.Value) {
	switch v.Kind() {
	case '"':
		if !httpguts.ValidHeaderFieldValue(rawjson.Text(v)) {
			r.refuse(at, "is not a valid header value; it must not contain control characters")
		}
	case '0', 't', 'f':
	default:
		r.refuse(at, "must be a string, a number, true, false or a list of these")
	}
}

func (r *reader) checkQuery(v rawjson.Value) {
	switch v.Kind() {
	case '"':
	case '{':
		r.checkQueryObject([]string{"query"}, v)
	default:
		r.refuse("#/query", "must be an object or a ready string")
	}
}

func (r *reader) checkQueryObject(path []string, v rawjson.Value) {
	for _, m := range rawjson.Members(v) {
		at := append(path[:len(path):len(path)], m.Name)
		switch m.Value.Kind() {
		case '{':
			r.checkQueryObject(at, m.Value)
		case '[':
			for i, e := range rawjson.Elements(m.Value) {
				if kind := e.Kind(); kind == '{' || kind == '[' {
					r.refuse(Pointer(append(at, strconv.Itoa(i))...), "must be a string, a number, true, false or null")
				}
			}
		}
	}
}
