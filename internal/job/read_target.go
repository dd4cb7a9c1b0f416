package job

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// MaxURL is the greatest length of a URL, in bytes.
const MaxURL = 8 << 10

func readURL(r *reader, f *Field, v rawjson.Value) {
	if v.Kind() != '"' {
		r.refuse(Pointer(f.Name), "must be a string")
		return
	}
	text := rawjson.Text(v)
	if why := r.opts.whyNotURL(text); why != "" {
		r.refuse(Pointer(f.Name), "%s", why)
	}
}

// WhyNotTarget returns why text is not a URL that requests may be sent to, or "" if
// it is one. Of the options it uses CheckHost and AllowHTTP.
func WhyNotTarget(text string, opts ReadOptions) string { return opts.whyNotURL(text) }

// whyNotURL returns why text is not a URL that may be called, or "" if it is.
func (o *ReadOptions) whyNotURL(text string) string {
	if len(text) > MaxURL {
		return "must be at most " + strconv.Itoa(MaxURL) + " bytes long"
	}
	u, err := url.Parse(text)
	if err != nil || strings.ContainsRune(text, 0) {
		return "must be an absolute URL, as in https://example.com/path"
	}
	switch {
	case u.Scheme == "http" && !o.AllowHTTP:
		return "must use https; the operator can permit http with --allow-http-targets"
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "":
		return "must use https"
	case u.Scheme == "" || u.Opaque != "" || u.Host == "":
		return "must be an absolute https URL with a host, as in https://example.com/path"
	case u.User != nil:
		return "must not contain user info; use the header Authorization instead"
	case ToListener(u):
		return o.whyNotListener(u)
	case !validPort(u) || !validHost(u.Hostname(), strings.HasPrefix(u.Host, "[")):
		return "must have a valid host and port"
	case o.CheckHost == nil:
		return ""
	case u.Scheme == "http" && u.Port() == "":
		return o.CheckHost(u.Host + ":80")
	}
	return o.CheckHost(u.Host)
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.Atoi(u.Port())
	return err == nil && port > 0 && port <= 65535
}

// maxHost is the greatest length of a host name in ASCII, which is at least as
// long as in Unicode. The limit exists because converting long names is slow.
const maxHost = 253

func validHost(host string, bracketed bool) bool {
	if bracketed {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	if utf8.RuneCountInString(host) > maxHost {
		return false
	}
	ascii := ASCIIHost(host)
	if ascii == "" || len(ascii) > maxHost || strings.Trim(ascii, ".") == "" || strings.Contains(ascii, "..") {
		return false
	}
	for _, c := range []byte(ascii) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}

var connectionHeaders = []string{"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive",
	"expect"}

func readHeaders(r *reader, _ *Field, v rawjson.Value) {
	if v.Kind() != '{' {
		r.refuse("#/headers", "must be an object of names and values")
		return
	}
	c := rawjson.Walk(v)
	for c.Enter(); c.More(); {
		name := rawjson.Text(c.Name())
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			r.refuse(Pointer("headers", name), "is not a valid header name")
		case belongsToConnection(name):
			r.refuse(Pointer("headers", name), "belongs to the connection and is set by the service; leave it out")
		case IsOwnField(name):
			r.refuse(Pointer("headers", name), "is set by the service, as all names are that begin with %s; leave it out, or choose another name", ownPrefix)
		}
		if c.Kind() != '[' {
			if why := whyNotHeaderValue(c.Value()); why != "" {
				r.refuse(Pointer("headers", name), "%s", why)
			}
			continue
		}
		i := 0
		for c.Enter(); c.More(); i++ {
			if why := whyNotHeaderValue(c.Value()); why != "" {
				r.refuse(Pointer("headers", name, strconv.Itoa(i)), "%s", why)
			}
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

// whyNotHeaderValue returns why v is not a valid header value, or "" if it is.
func whyNotHeaderValue(v rawjson.Value) string {
	switch v.Kind() {
	case '"':
		if !httpguts.ValidHeaderFieldValue(rawjson.Text(v)) {
			return "is not a valid header value; it must not contain control characters"
		}
	case '0', 't', 'f':
	default:
		return "must be a string, a number, true, false or a list of these"
	}
	return ""
}

func readQuery(r *reader, _ *Field, v rawjson.Value) {
	switch v.Kind() {
	case '"':
	case '{':
		if rawjson.Depth(v) > MaxQueryDepth {
			r.refuse("#/query", "must nest at most %d deep", MaxQueryDepth)
			return
		}
		r.checkQueryObject([]string{"query"}, rawjson.Walk(v))
	default:
		r.refuse("#/query", "must be an object or an encoded string")
	}
}

// checkQueryObject checks the object at c, whose path is path.
func (r *reader) checkQueryObject(path []string, c *rawjson.Cursor) {
	for c.Enter(); c.More(); {
		at := append(path, rawjson.Text(c.Name()))
		switch c.Kind() {
		case '{':
			r.checkQueryObject(at, c)
		case '[':
			r.checkQueryArray(at, c)
		default:
			c.Value()
		}
	}
}

func (r *reader) checkQueryArray(path []string, c *rawjson.Cursor) {
	i := 0
	for c.Enter(); c.More(); i++ {
		if kind := c.Value().Kind(); kind == '{' || kind == '[' {
			r.refuse(Pointer(append(path, strconv.Itoa(i))...), "must be a string, a number, true, false or null")
		}
	}
}

// checkSize refuses a request that would be too large to send, whatever the
// values of its dynamic fields. It sets the draft's spec.
func (r *reader) checkSize() {
	r.draft.Spec = specOf(r.fields)
	spec := r.draft.Spec
	if len(spec.URL) > MaxURL {
		spec.URL = "" // already refused
	}
	_, err := Render(&spec, Dynamic{Job: null, State: null, Previous: null})
	var oversize *OversizeError
	if errors.As(err, &oversize) {
		r.refuse("#/"+oversize.Field, "is too large to send: %s", err)
	}
}
