package job

import (
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// credentialWords mark a header as a credential if its name has one of them,
// between hyphens, underscores or dots.
var credentialWords = []string{
	"apikey", "auth", "authorization", "cookie", "credential", "credentials", "jwt", "key", "passwd", "password", "secret", "session", "token",
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

// KeepCredentials returns an object with the headers' values of before in place of
// those that MaskCredentials has replaced. So a masked object can be edited.
func KeepCredentials(object, before rawjson.Value) rawjson.Value {
	if object.Kind() != '{' {
		return object
	}
	members := rawjson.Members(object)
	i := slices.IndexFunc(members, func(m rawjson.Member) bool { return m.Name == "headers" })
	if i < 0 || members[i].Value.Kind() != '{' {
		return object
	}
	known := rawjson.Members(rawjson.Get(before, "headers"))
	headers := rawjson.Members(members[i].Value)
	changed := false
	for k, h := range headers {
		if !IsCredential(h.Name) || !isMasked(h.Value) {
			continue
		}
		at := slices.IndexFunc(known, func(m rawjson.Member) bool { return strings.EqualFold(m.Name, h.Name) })
		if at >= 0 && len(rawjson.Elements(known[at].Value)) == len(rawjson.Elements(h.Value)) {
			headers[k].Value, changed = known[at].Value, true
		}
	}
	if !changed {
		return object
	}
	members[i].Value = rawjson.Object(headers)
	return rawjson.Object(members)
}

// isMasked reports whether a header's value is what MaskCredentials makes of one.
func isMasked(v rawjson.Value) bool {
	isMask := func(e rawjson.Value) bool { return e.Kind() == '"' && rawjson.Text(e) == maskedText }
	elements := rawjson.Elements(v)
	return isMask(v) || len(elements) > 0 && !slices.ContainsFunc(elements, func(e rawjson.Value) bool { return !isMask(e) })
}
