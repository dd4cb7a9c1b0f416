package job

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// credentialWords mark a header as a credential if its name has one of them,
// between hyphens, underscores or dots.
var credentialWords = []string{
	"apikey", "auth", "authorization", "cookie", "credential", "credentials", "jwt", "key", "passwd", "password", "secret", "session",
	"token",
}

// IsCredential reports whether a header's name says that its value is a
// credential, as authorization, cookie and x-api-key do. An idempotency key is
// none.
func IsCredential(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return c == '-' || c == '_' || c == '.' })
	if slices.Contains(words, "idempotency") {
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains(credentialWords, word)
	})
}

// maskedText replaces the value of a credential.
const maskedText = "***"

var masked = rawjson.Quote(maskedText)

// MaskCredentials returns an object, such as args or the payload of a log, with
// "***" in place of the values of those of its headers that are credentials.
func MaskCredentials(object rawjson.Value) rawjson.Value {
	if object.Kind() != '{' {
		return object
	}
	members := rawjson.Members(object)
	i := slices.IndexFunc(members, func(m rawjson.Member) bool { return m.Name == "headers" })
	if i < 0 || members[i].Value.Kind() != '{' {
		return object
	}
	headers := rawjson.Members(members[i].Value)
	changed := false
	for k, h := range headers {
		if !IsCredential(h.Name) {
			continue
		}
		changed = true
		if headers[k].Value = masked; h.Value.Kind() == '[' {
			elements := rawjson.Elements(h.Value)
			for e := range elements {
				elements[e] = masked
			}
			headers[k].Value = rawjson.Array(elements)
		}
	}
	if !changed {
		return object
	}
	members[i].Value = rawjson.Object(headers)
	return rawjson.Object(members)
}

// MaskLog returns the payload of a log with masked credentials: those in the headers of
// a request or a response, and those in the address that an alert is sent to.
func MaskLog(event string, payload rawjson.Value) rawjson.Value {
	payload = MaskCredentials(payload)
	if payload.Kind() != '{' {
		return payload
	}
	members := rawjson.Members(payload)
	changed := false
	for i, m := range members {
		shown := m.Value
		switch {
		case m.Name == "response":
			shown = MaskCredentials(m.Value)
		case m.Name == "url" && event == EventAlertFailed:
			shown = maskAddress(m.Value)
		}
		changed = changed || !bytes.Equal(shown, m.Value)
		members[i].Value = shown
	}
	if !changed {
		return payload
	}
	return rawjson.Object(members)
}

// maskAddress returns the address of a receiver, a string, without its path and query.
// E-mail addresses are no credentials.
func maskAddress(address rawjson.Value) rawjson.Value {
	u, err := url.Parse(rawjson.Text(address))
	switch {
	case err != nil || u.Host == "" && u.Scheme != "mailto":
		return masked
	case u.Scheme == "mailto":
		return address
	}
	return rawjson.Quote(u.Scheme + "://" + u.Host + "/" + maskedText)
}

// KeepCredentials returns an object with the headers' values of before in place of
// those that MaskCredentials has replaced. So a masked object can be edited. Names
// are compared without case; of several headers with a name, the first of before
// counts.
func KeepCredentials(object, before rawjson.Value) rawjson.Value {
	if object.Kind() != '{' {
		return object
	}
	members := rawjson.Members(object)
	i := slices.IndexFunc(members, func(m rawjson.Member) bool { return m.Name == "headers" })
	if i < 0 || members[i].Value.Kind() != '{' {
		return object
	}
	known := knownHeaders(rawjson.Get(before, "headers"))
	headers := rawjson.Members(members[i].Value)
	changed := false
	for k, h := range headers {
		if !IsCredential(h.Name) || !isMasked(h.Value) {
			continue
		}
		was, ok := known[strings.ToLower(h.Name)]
		if ok && was.elements == len(rawjson.Elements(h.Value)) {
			headers[k].Value, changed = was.value, true
		}
	}
	if !changed {
		return object
	}
	members[i].Value = rawjson.Object(headers)
	return rawjson.Object(members)
}

// knownHeader is a header's value, and of how many elements it consists if it is an
// array.
type knownHeader struct {
	value    rawjson.Value
	elements int
}

// knownHeaders returns the first value of each name, in lower case. Forms may have
// more than a hundred thousand headers, so none may be searched for.
func knownHeaders(headers rawjson.Value) map[string]knownHeader {
	members := rawjson.Members(headers)
	known := make(map[string]knownHeader, len(members))
	for _, m := range members {
		name := strings.ToLower(m.Name)
		if _, ok := known[name]; !ok {
			known[name] = knownHeader{m.Value, len(rawjson.Elements(m.Value))}
		}
	}
	return known
}

// isMasked reports whether a header's value is what MaskCredentials makes of one.
func isMasked(v rawjson.Value) bool {
	isMask := func(e rawjson.Value) bool { return e.Kind() == '"' && rawjson.Text(e) == maskedText }
	elements := rawjson.Elements(v)
	return isMask(v) || len(elements) > 0 && !slices.ContainsFunc(elements, func(e rawjson.Value) bool { return !isMask(e) })
}
